package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// resolveFlags holds the flags of weir ledger resolve.
type resolveFlags struct {
	usd, older, account               string
	release, atMost, estimate, dryRun bool
}

func newLedgerResolve(env *environment) *cobra.Command {
	var f resolveFlags
	cmd := env.jsonFlag(&cobra.Command{
		Use: "resolve [ATTEMPT]", Short: "Set the cost of attempts with an unknown end",
		Long: "Set the cost of an attempt whose end is unknown, or by a rule the cost of all such attempts that\n" +
			"are older than --older. Until then, budgets count their upper bounds. Each attempt gets a\n" +
			"correction and an entry in the audit log; its own row stays unchanged.",
		Example: "  weir ledger resolve 0198c2f0-7a54-7c31-9b1e-0242ac120002.1 --usd 0.0123\n" +
			"  weir ledger resolve --older 7d --account research --at-most --dry-run",
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.older == "" {
				return env.resolveOne(cmd, args, &f)
			}
			return env.resolveOlder(cmd, args, &f)
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&f.usd, "usd", "", "cost of the attempt, in US dollars")
	flags.BoolVar(&f.release, "release", false, "set the cost to 0, with --older that of each attempt")
	flags.StringVar(&f.older, "older", "", "all attempts that were opened longer ago than this, such as 7d or 36h")
	flags.StringVar(&f.account, "account", "", "with --older: only this account")
	flags.BoolVar(&f.atMost, "at-most", false, "with --older: set each cost to its upper bound")
	flags.BoolVar(&f.estimate, "estimate", false, "with --older: set each cost to its best estimate")
	flags.BoolVar(&f.dryRun, "dry-run", false, "with --older: print what would be resolved, without changing anything")
	return cmd
}

// resolveOne sets the cost of one attempt.
func (env *environment) resolveOne(cmd *cobra.Command, args []string, f *resolveFlags) error {
	if err := oneArg("the attempt's id, or none with --older")(cmd, args); err != nil {
		return err
	}
	if f.account != "" || f.atMost || f.estimate || f.dryRun {
		return usageError{errors.New("--account, --at-most, --estimate and --dry-run go with --older")}
	}
	id, err := ledger.ParseAttemptID(args[0])
	if err != nil {
		return usageError{err}
	}
	if f.release == (f.usd != "") {
		return usageError{errors.New("give either --usd AMOUNT or --release")}
	}
	var cost llm.Money
	if f.usd != "" {
		if cost, err = llm.ParseMoney(f.usd); err != nil || cost < 0 {
			return usageError{fmt.Errorf("--usd is an amount of US dollars such as 0.0123; got %q", f.usd)}
		}
	}
	return env.withData(cmd, func(d *admin.Admin) error {
		return d.Ledger.Resolve(cmd.Context(), actor(), id, cost, f.release)
	})
}

// resolveOlder sets the cost of older attempts by a rule.
func (env *environment) resolveOlder(cmd *cobra.Command, args []string, f *resolveFlags) error {
	if err := noArgs(cmd, args); err != nil {
		return err
	}
	if f.usd != "" {
		return usageError{
			errors.New("--usd is the cost of one attempt; with --older give --at-most, --estimate or --release"),
		}
	}
	rule, err := f.rule()
	if err != nil {
		return usageError{err}
	}
	age, err := parseAge(f.older)
	if err != nil {
		return err
	}
	return env.withData(cmd, func(d *admin.Admin) error {
		bar := newProgress(env.stderr, "attempts")
		q := ledger.ResolveQuery{Before: d.Now().Add(-age), Rule: rule, DryRun: f.dryRun}
		sum, err := d.Ledger.ResolveOlder(cmd.Context(), actor(), f.account, q, bar.show)
		bar.done()
		if err != nil {
			return errors.Join(err, env.printResolution(&sum, f.dryRun))
		}
		return env.printResolution(&sum, f.dryRun)
	})
}

func (f *resolveFlags) rule() (rule ledger.Rule, err error) {
	n := 0
	for _, r := range []struct {
		rule ledger.Rule
		set  bool
	}{{ledger.RuleAtMost, f.atMost}, {ledger.RuleEstimate, f.estimate}, {ledger.RuleRelease, f.release}} {
		if r.set {
			rule = r.rule
			n++
		}
	}
	if n != 1 {
		return "", errors.New("give one of --at-most, --estimate and --release")
	}
	return rule, nil
}

func (o *output) printResolution(r *ledger.Resolution, dry bool) error {
	if o.asJSON {
		return printJSON(o.stdout, map[string]any{
			"attempts": r.Attempts, "cost_usd": r.Cost.String(), "cost_at_most_usd": r.AtMost.String(),
			"resolved_usd": r.Decided.String(), "dry_run": dry,
		})
	}
	done := "resolved"
	if dry {
		done = "to be resolved"
	}
	_, err := fmt.Fprintf(o.stdout, "%d attempts, estimated at $%s, at most $%s: %s at $%s\n", r.Attempts, r.Cost,
		r.AtMost, done, r.Decided)
	return err
}

func newLedgerCorrect(env *environment) *cobra.Command {
	var usd string
	c := ledger.Correct{}
	cmd := &cobra.Command{
		Use: "correct ATTEMPT", Short: "Add an amount, such as a credit note, to the cost of an attempt",
		Long: "Add an amount, such as a credit note of the provider, to the cost of an attempt. The attempt's own\n" +
			"row stays unchanged; the correction counts in budgets, reports and exports, on the attempt's day.\n" +
			"Several corrections add up, and the cost cannot fall below 0. An unpriced attempt becomes priced:\n" +
			"the correction sets its cost, with 0 if it was free.",
		Example: "  weir ledger correct 0198c2f0-7a54-7c31-9b1e-0242ac120002.1 --usd -0.12 --reason 'credit note " +
			"2026-117'",
		Args: oneArg("the attempt's id"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if c.ID, err = ledger.ParseAttemptID(args[0]); err != nil {
				return usageError{err}
			}
			if c.Amount, err = llm.ParseMoney(usd); err != nil {
				return usageError{fmt.Errorf("--usd is the amount to add to the cost, in US dollars, such as "+
					"-0.12; got %q",
					usd)}
			}
			return env.withData(cmd, func(d *admin.Admin) error {
				return d.Ledger.Correct(cmd.Context(), actor(), c)
			})
		},
	}
	cmd.Flags().StringVar(&usd, "usd", "", "amount to add to the cost, in US dollars; a negative amount lowers "+
		"the cost")
	cmd.Flags().StringVar(&c.Reason, "reason", "", "reason, for the audit log and the request's page")
	for _, name := range []string{"usd", "reason"} {
		_ = cmd.MarkFlagRequired(name) // the flags are defined above
	}
	return cmd
}
