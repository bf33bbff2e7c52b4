package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/app"
	"weir/internal/ledger"
)

func newLedger(env *environment) *cobra.Command {
	return group("ledger", "The record of every attempt", newLedgerVerify(env), newLedgerExport(env), newLedgerResolve(env), newLedgerCorrect(env))
}

// verifyWait is how long a running gateway has to project what its journal has.
const verifyWait = 10 * time.Second

func newLedgerVerify(env *environment) *cobra.Command {
	var projected bool
	cmd := env.jsonFlag(&cobra.Command{
		Use: "verify", Short: "Recompute every sum from the rows and print the difference, which is 0",
		Long: "Recompute every sum from the rows and print the difference, which is 0. A running gateway\n" +
			"has 10 seconds to project what its journal has; what is not projected then is a failure,\n" +
			"unless --projected asks for what is projected alone.",
		Example: "  weir ledger verify", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.withData(cmd, func(d *app.Data) error {
				bar := newProgress(env.stderr, "rows")
				o := app.VerifyOptions{Progress: bar.show, Waiting: func() {
					fmt.Fprintln(env.stderr, "waiting up to 10 s for the gateway to project its journal; --projected does not wait")
				}}
				if !projected {
					o.Wait = verifyWait
				}
				v, left, err := d.Verify(cmd.Context(), o)
				bar.done()
				if err != nil {
					return err
				}
				if err := env.printVerification(&v, left); err != nil {
					return err
				}
				if len(v.Differences) > 0 || left.Lost > 0 || left.Records > 0 && !projected {
					return errQuiet
				}
				return nil
			})
		},
	})
	cmd.Flags().BoolVar(&projected, "projected", false, "verify what is projected, without waiting, and say what is left out")
	return cmd
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

func (env *environment) printVerification(v *ledger.Verification, left ledger.Backlog) error {
	if env.asJSON {
		differences := make([]differenceView, 0, len(v.Differences))
		for i := range v.Differences {
			d := &v.Differences[i]
			differences = append(differences, differenceView{d.Rollup, d.Period, d.Account, d.Model, d.Key, d.What, d.Rolled, d.Rows})
		}
		return printJSON(env.stdout, map[string]any{
			"rows": v.Rows, "open": v.Open, "unknown": v.Unknown, "sums": v.Rollups,
			"differences": differences, "journal_gap_bytes": left.Lost, "unprojected_records": left.Records,
		})
	}
	for i := range v.Differences {
		d := &v.Differences[i]
		fmt.Fprintf(env.stdout, "%s %s account=%s model=%s key=%s: %s is %d, the rows say %d\n",
			d.Rollup, d.Period, d.Account, d.Model, d.Key, d.What, d.Rolled, d.Rows)
	}
	if left.Lost > 0 {
		fmt.Fprintf(env.stdout, "the database is %d bytes behind the oldest journal segment that is kept: what lies between is lost\n", left.Lost)
	}
	if left.Records > 0 {
		fmt.Fprintf(env.stdout, "%d records of the journal are not projected and were left out: start the gateway, which projects them, and verify again\n", left.Records)
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
