package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"weir/internal/account"
	"weir/internal/admin"
)

// limitsView holds limits as listings show them; 0 means no limit and is left out.
type limitsView struct {
	RPM         int64 `json:"rpm,omitempty"`
	TPM         int64 `json:"tpm,omitempty"`
	Concurrency int64 `json:"concurrency,omitempty"`
}

// cell formats the limits for a table.
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
	flags.Int64Var(&l.RPM, "rpm", 0, "requests per minute"+otherwise)
	flags.Int64Var(&l.TPM, "tpm", 0, "input and output tokens per minute"+otherwise)
	flags.Int64Var(&l.Concurrency, "concurrency", 0, "concurrent requests"+otherwise)
}

// limitsGiven reports whether a flag of limits was given.
func limitsGiven(cmd *cobra.Command) bool {
	return cmd.Flags().Changed("rpm") || cmd.Flags().Changed("tpm") || cmd.Flags().Changed("concurrency")
}

// keepLimits copies the limits whose flags were not given from before.
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
	cmd = accountChange(env, "limits NAME", "Set an account's rate limits; they are in force within a second",
		func(ctx context.Context, d *admin.Admin, name string) (account.Account, error) {
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
	cmd.Long = "Limit the requests and tokens of all keys of an account together in any 60 seconds, and their\n" +
		"concurrent requests. 0 removes a limit; limits without a flag stay unchanged. If an account has no\n" +
		"limit of its own, limits.per_account of the configuration applies. With --per-user the limits apply\n" +
		"to each end user, and with --per-tag to each value of a tag."
	cmd.Example = "  weir accounts limits research --rpm 600 --tpm 200000\n  weir accounts limits research " +
		"--concurrency 0\n  weir accounts limits research --per-user --rpm 10"
	per.define(cmd)
	limitFlags(cmd, &l, "; 0 for no limit")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if limitsGiven(cmd) {
			return nil
		}
		return usageError{errors.New("give a limit: --rpm, --tpm or --concurrency, with 0 to remove it")}
	}
	return cmd
}
