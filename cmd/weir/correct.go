package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"weir/internal/app"
	"weir/internal/config"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// resolveFlags are those of weir ledger resolve.
type resolveFlags struct {
	usd, older, account               string
	release, atMost, estimate, dryRun bool
}

func newLedgerResolve(env *environment) *cobra.Command {
	var f resolveFlags
	cmd := env.jsonFlag(&cobra.Command{
		Use: "resolve [ATTEMPT]", Short: "Decide what attempts cost whose end nobody saw",
		Long: "Decide what an attempt cost whose end nobody saw, or by a rule what all of them cost\n" +
			"that are older. Budgets count their upper bounds until then. Each attempt gets a\n" +
			"correcting row and an entry in the audit log; its own row stays as it is.",
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
	flags.StringVar(&f.usd, "usd", "", "what the attempt cost, in US dollars")
	flags.BoolVar(&f.release, "release", false, "it cost nothing; so did each that is older")
	flags.StringVar(&f.older, "older", "", "all that were opened longer ago, such as 7d or 36h")
	flags.StringVar(&f.account, "account", "", "with --older: of this account alone")
	flags.BoolVar(&f.atMost, "at-most", false, "with --older: each cost its upper bound")
	flags.BoolVar(&f.estimate, "estimate", false, "with --older: each cost its best estimate")
	flags.BoolVar(&f.dryRun, "dry-run", false, "with --older: print what would be resolved, and change nothing")
	return cmd
}

// resolveOne decides what one attempt cost.
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
		return usageError{errors.New("say either --usd AMOUNT or --release")}
	}
	var cost llm.Money
	if f.usd != "" {
		if cost, err = llm.ParseMoney(f.usd); err != nil || cost < 0 {
			return usageError{fmt.Errorf("--usd is an amount of US dollars such as 0.0123; got %q", f.usd)}
		}
	}
	return env.withData(cmd, func(d *app.Data) error {
		return d.Resolve(cmd.Context(), actor(), id, cost, f.release)
	})
}

// resolveOlder resolves by a rule.
func (env *environment) resolveOlder(cmd *cobra.Command, args []string, f *resolveFlags) error {
	if err := noArgs(cmd, args); err != nil {
		return err
	}
	if f.usd != "" {
		return usageError{
			errors.New("--usd says what one attempt cost; with --older give --at-most, --estimate or --release"),
		}
	}
	rule, err := f.rule()
	if err != nil {
		return usageError{err}
	}
	age, ok := config.ParseDuration(f.older)
	if !ok || age <= 0 {
		return usageError{fmt.Errorf("--older is how long ago, such as 7d or 36h; got %q", f.older)}
	}
	return env.withData(cmd, func(d *app.Data) error {
		bar := newProgress(env.stderr, "attempts")
		q := ledger.ResolveQuery{Before: d.Now().Add(-age), Rule: rule, DryRun: f.dryRun}
		sum, err := d.ResolveOlder(cmd.Context(), actor(), f.account, q, bar.show)
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
		return "", errors.New("say one of --at-most, --estimate and --release")
	}
	return rule, nil
}

func (env *environment) printResolution(r *ledger.Resolution, dry bool) error {
	if env.asJSON {
		return printJSON(env.stdout, map[string]any{
			"attempts": r.Attempts, "cost_usd": r.Cost.String(), "cost_at_most_usd": r.AtMost.String(),
			"resolved_usd": r.Decided.String(), "dry_run": dry,
		})
	}
	done := "resolved"
	if dry {
		done = "to be resolved"
	}
	_, err := fmt.Fprintf(env.stdout, "%d attempts, estimated at $%s, at most $%s: %s at $%s\n", r.Attempts, r.Cost,
		r.AtMost, done, r.Decided)
	return err
}

func newLedgerCorrect(env *environment) *cobra.Command {
	var usd string
	c := ledger.Correct{}
	cmd := &cobra.Command{
		Use: "correct ATTEMPT", Short: "Correct what an attempt cost by an amount, such as a credit note",
		Long: "Correct what an attempt cost by an amount, such as a credit note of the provider. Its own\n" +
			"row stays as it is; the correction counts in budgets, reports and exports, on the\n" +
			"attempt's day. Several add up, and the cost cannot come to less than 0. Usage without a\n" +
			"price is unpriced no more: the correction sets its cost, 0 where it was free.",
		Example: "  weir ledger correct 0198c2f0-7a54-7c31-9b1e-0242ac120002.1 --usd -0.12 --reason 'credit note " +
			"2026-117'",
		Args: oneArg("the attempt's id"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if c.ID, err = ledger.ParseAttemptID(args[0]); err != nil {
				return usageError{err}
			}
			if c.Amount, err = llm.ParseMoney(usd); err != nil {
				return usageError{fmt.Errorf("--usd is what is added to the cost, in US dollars, such as -0.12; got %q",
					usd)}
			}
			return env.withData(cmd, func(d *app.Data) error {
				return d.Correct(cmd.Context(), actor(), c)
			})
		},
	}
	cmd.Flags().StringVar(&usd, "usd", "", "what is added to the cost, in US dollars; less than 0 lowers it")
	cmd.Flags().StringVar(&c.Reason, "reason", "", "why, for the audit log and the request's page")
	for _, name := range []string{"usd", "reason"} {
		_ = cmd.MarkFlagRequired(name) // the flags are defined above
	}
	return cmd
}
