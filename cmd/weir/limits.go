package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"weir/internal/account"
	"weir/internal/app"
)

// limitsView are limits as listings show them; what is 0 is no limit and left
// out.
type limitsView struct {
	RPM         int64 `json:"rpm,omitempty"`
	TPM         int64 `json:"tpm,omitempty"`
	Concurrency int64 `json:"concurrency,omitempty"`
}

// cell is the limits in a table.
func (v limitsView) cell() string {
	var all []string
	for _, l := range []struct {
		n    int64
		unit string
	}{{v.RPM, "rpm"}, {v.TPM, "tpm"}, {v.Concurrency, "at a time"}} {
		if l.n > 0 {
			all = append(all, fmt.Sprintf("%d %s", l.n, l.unit))
		}
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

// limitFlags defines the flags of limits.
func limitFlags(cmd *cobra.Command, l *account.Limits, otherwise string) {
	flags := cmd.Flags()
	flags.Int64Var(&l.RPM, "rpm", 0, "requests a minute"+otherwise)
	flags.Int64Var(&l.TPM, "tpm", 0, "tokens a minute, of input and output"+otherwise)
	flags.Int64Var(&l.Concurrency, "concurrency", 0, "requests at a time"+otherwise)
}

// limitsGiven reports whether a flag of limits was given.
func limitsGiven(cmd *cobra.Command) bool {
	return cmd.Flags().Changed("rpm") || cmd.Flags().Changed("tpm") || cmd.Flags().Changed("concurrency")
}

// keepLimits leaves the limits whose flags were not given as they were.
func keepLimits(cmd *cobra.Command, l, before *account.Limits) {
	given := cmd.Flags().Changed
	if !given("rpm") {
		l.RPM = before.RPM
	}
	if !given("tpm") {
		l.TPM = before.TPM
	}
	if !given("concurrency") {
		l.Concurrency = before.Concurrency
	}
}

func newAccountsLimits(env *environment) *cobra.Command {
	var l account.Limits
	var per perFlags
	var cmd *cobra.Command
	cmd = accountChange(env, "limits NAME", "Limit what an account may ask for, within a second",
		func(ctx context.Context, d *app.Data, name string) (account.Account, error) {
			if per.given() {
				return per.change(ctx, d, name, func(p *account.Per) {
					keepLimits(cmd, &l, &p.Limits)
					p.Limits = l
				})
			}
			a, err := d.Accounts.Account(ctx, name)
			if err != nil {
				return a, err
			}
			keepLimits(cmd, &l, &a.Limits)
			return d.Accounts.SetLimits(ctx, actor(), name, l)
		})
	cmd.Long = "Limit what all keys of an account together may ask for in any 60 seconds, and at a time.\n" +
		"0 takes a limit away; what is not named stays. Where an account has no limit of its own,\n" +
		"limits.per_account of the configuration holds. With --per-user they are limits of each end user,\n" +
		"and with --per-tag of each value of a tag."
	cmd.Example = "  weir accounts limits research --rpm 600 --tpm 200000\n  weir accounts limits research " +
		"--concurrency 0\n  weir accounts limits research --per-user --rpm 10"
	per.define(cmd)
	limitFlags(cmd, &l, "; 0 for no limit")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if limitsGiven(cmd) {
			return nil
		}
		return usageError{errors.New("say which limit: --rpm, --tpm or --concurrency, and 0 to take it away")}
	}
	return cmd
}
