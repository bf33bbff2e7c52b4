package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"weir/internal/app"
	"weir/internal/ledger"
	"weir/internal/llm"
)

func newLedger(env *environment) *cobra.Command {
	return group("ledger", "The record of every attempt", newLedgerVerify(env), newLedgerExport(env), newLedgerResolve(env))
}

func newLedgerVerify(env *environment) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use: "verify", Short: "Recompute every sum from the rows and print the difference, which is 0",
		Example: "  weir ledger verify", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.withData(cmd, func(d *app.Data) error {
				bar := newProgress(env.stderr, "rows")
				v, gap, err := d.Verify(cmd.Context(), bar.show)
				bar.done()
				if err != nil {
					return err
				}
				if err := env.printVerification(&v, gap); err != nil {
					return err
				}
				if len(v.Differences) > 0 || gap > 0 {
					return errQuiet
				}
				return nil
			})
		},
	})
}

// differenceView is a difference as JSON shows it; a cost is in nano-USD.
type differenceView struct {
	Rollup  string `json:"rollup"`
	Period  string `json:"period"`
	Account string `json:"account"`
	Model   string `json:"model"`
	Key     string `json:"key"`
	What    string `json:"what"`
	Rolled  int64  `json:"rolled"`
	Rows    int64  `json:"rows"`
}

func (env *environment) printVerification(v *ledger.Verification, gap ledger.Position) error {
	if env.asJSON {
		differences := make([]differenceView, 0, len(v.Differences))
		for i := range v.Differences {
			d := &v.Differences[i]
			differences = append(differences, differenceView{d.Rollup, d.Period, d.Account, d.Model, d.Key, d.What, d.Rolled, d.Rows})
		}
		return printJSON(env.stdout, map[string]any{
			"rows": v.Rows, "open": v.Open, "unknown": v.Unknown, "sums": v.Rollups,
			"differences": differences, "journal_gap_bytes": gap,
		})
	}
	for i := range v.Differences {
		d := &v.Differences[i]
		fmt.Fprintf(env.stdout, "%s %s account=%s model=%s key=%s: %s is %d, the rows say %d\n",
			d.Rollup, d.Period, d.Account, d.Model, d.Key, d.What, d.Rolled, d.Rows)
	}
	if gap > 0 {
		fmt.Fprintf(env.stdout, "the database is %d bytes behind the oldest journal segment that is kept: what lies between is lost\n", gap)
	}
	_, err := fmt.Fprintf(env.stdout, "%d rows (%d open, %d unknown), %d sums: %d differences\n",
		v.Rows, v.Open, v.Unknown, v.Rollups, len(v.Differences))
	return err
}

func newLedgerExport(env *environment) *cobra.Command {
	var format, account, from, to string
	cmd := &cobra.Command{
		Use: "export", Short: "Print every attempt, one row each",
		Example: "  weir ledger export --format csv --start-date 2026-01-01 > attempts.csv", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			write, ok := exportFormats()[format]
			if !ok {
				return usageError{fmt.Errorf("the format is csv or focus; got %q", format)}
			}
			return env.withData(cmd, func(d *app.Data) error {
				return write(env.stdout, env.stderr, func(fn func(*ledger.Exported) error) error {
					return d.Export(cmd.Context(), account, from, to, fn)
				})
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&format, "format", "csv", "csv, or focus for the FinOps Open Cost and Usage Specification")
	flags.StringVar(&account, "account", "", "of this account alone")
	flags.StringVar(&from, "start-date", "", "from this UTC date on")
	flags.StringVar(&to, "end-date", "", "up to and with this UTC date")
	return cmd
}

func newLedgerResolve(env *environment) *cobra.Command {
	var usd string
	var release bool
	cmd := &cobra.Command{
		Use: "resolve ATTEMPT", Short: "Decide by hand what an attempt of unknown outcome cost",
		Example: "  weir ledger resolve 0198c2f0-7a54-7c31-9b1e-0242ac120002.1 --usd 0.0123", Args: oneArg("the attempt's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := ledger.ParseAttemptID(args[0])
			if err != nil {
				return usageError{err}
			}
			if release == (usd != "") {
				return usageError{fmt.Errorf("say either --usd AMOUNT or --release")}
			}
			var cost llm.Money
			if usd != "" {
				if cost, err = llm.ParseMoney(usd); err != nil || cost < 0 {
					return usageError{fmt.Errorf("--usd is an amount of US dollars such as 0.0123; got %q", usd)}
				}
			}
			return env.withData(cmd, func(d *app.Data) error {
				return d.Resolve(cmd.Context(), actor(), id, cost, release)
			})
		},
	}
	cmd.Flags().StringVar(&usd, "usd", "", "what it cost, in US dollars")
	cmd.Flags().BoolVar(&release, "release", false, "it cost nothing")
	return cmd
}
