package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/report"
)

func newLedger(env *environment) *cobra.Command {
	return group("ledger", "Verify, export and correct the ledger: the record of every attempt",
		newLedgerVerify(env), newLedgerExport(env), newLedgerExplain(env), newLedgerResolve(env), newLedgerCorrect(env))
}

// verifyWait bounds how long verify waits for a running gateway to project its journal.
const verifyWait = 10 * time.Second

func newLedgerVerify(env *environment) *cobra.Command {
	var projected bool
	cmd := env.jsonFlag(&cobra.Command{
		Use: "verify", Short: "Recompute every sum from the rows and print the differences; there should be none",
		Long: "Recompute every sum from the rows and print the differences, and the records of journals that could\n" +
			"not be stored and are set aside. There should be none. A gateway that runs on the data directory has\n" +
			"10 seconds to project its journal. The command fails if records are not projected by then; with\n" +
			"--projected it verifies only the projected ones.",
		Example: "  weir ledger verify", Args: noArgs,
		RunE: env.data(func(ctx context.Context, d *admin.Admin, _ []string) error {
			bar := newProgress(env.stderr, "rows")
			o := admin.VerifyOptions{Progress: bar.show, Waiting: func() {
				fmt.Fprintln(env.stderr,
					"waiting up to 10 s for the gateway to project its journal; --projected does not wait")
			}}
			if !projected {
				o.Wait = verifyWait
			}
			v, left, err := d.Ledger.Verify(ctx, o)
			bar.done()
			if err != nil {
				return err
			}
			if err := env.printVerification(&v, left); err != nil {
				return err
			}
			if len(v.Differences) > 0 || len(v.SetAside) > 0 || left.Lost > 0 || left.Records > 0 && !projected {
				return errQuiet
			}
			return nil
		}),
	})
	cmd.Flags().BoolVar(&projected, "projected", false,
		"verify only projected records, without waiting, and print how many are left out")
	return cmd
}

func (o *output) printVerification(v *report.Verification, left ledger.Backlog) error {
	if o.asJSON {
		return printJSON(o.stdout, map[string]any{
			"rows": v.Rows, "open": v.Open, "unknown": v.Unknown, "sums": v.Rollups,
			"differences": append([]report.Difference{}, v.Differences...), "journal_gap_bytes": left.Lost,
			"unprojected_records": left.Records, "set_aside": append([]report.SetAside{}, v.SetAside...),
		})
	}
	for i := range v.Differences {
		fmt.Fprintln(o.stdout, differenceLine(&v.Differences[i]))
	}
	for i := range v.SetAside {
		r := &v.SetAside[i]
		fmt.Fprintf(o.stdout, "set aside: %s (journal %s at %d): %s. The sums lack it: add its "+
			"cost to another attempt by weir ledger correct if it is due\n", r.Record, r.Journal, r.Position, r.Reason)
	}
	if left.Lost > 0 {
		fmt.Fprintf(o.stdout,
			"the database is %d bytes behind the oldest journal segment: the records in between are lost\n",
			left.Lost)
	}
	if left.Records > 0 {
		fmt.Fprintf(o.stdout, "%d records of the journal are not projected and were left out: start the gateway to "+
			"project them, and verify again\n", left.Records)
	}
	_, err := fmt.Fprintf(o.stdout, "%d rows (%d open, %d unknown), %d sums: %d differences\n",
		v.Rows, v.Open, v.Unknown, v.Rollups, len(v.Differences))
	return err
}

// differenceLine formats a difference for people; costs are in nano-USD.
func differenceLine(d *report.Difference) string {
	return fmt.Sprintf("%s %s account=%s model=%s key=%s: %s is %d, the rows say %d",
		d.Rollup, d.Period, d.Account, d.Model, d.Key, d.What, d.Rolled, d.Rows)
}

func newLedgerExport(env *environment) *cobra.Command {
	var format, focus string
	var dates exportFlags
	cmd := &cobra.Command{
		Use: "export", Short: "Print all attempts, one row each",
		Example: "  weir ledger export --format csv --start-date 2026-01-01 > attempts.csv\n" +
			"  weir ledger export --format focus --focus 1.2 --account research > focus.csv", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			versions := report.FOCUSVersions()
			if focus != "" && !slices.Contains(versions, focus) {
				return usageError{
					fmt.Errorf("the version of FOCUS is one of %s; got %q", strings.Join(versions, ", "), focus),
				}
			}
			write, ok := report.ExportFormats(focus)[format]
			if !ok {
				return usageError{fmt.Errorf("the format is csv or focus; got %q", format)}
			}
			return env.withData(cmd, func(d *admin.Admin) error {
				o, err := write(env.stdout, func(fn func(*report.Exported) error) error {
					return d.Ledger.Export(cmd.Context(), dates.account, dates.from, dates.to, fn)
				})
				env.printOmitted(o)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&format, "format", "csv", "csv, or focus (FinOps Open Cost and Usage Specification)")
	cmd.Flags().StringVar(&focus, "focus", "", "version of FOCUS: "+strings.Join(report.FOCUSVersions(), ", ")+
		" (default the newest)")
	dates.define(cmd)
	return cmd
}

// printOmitted reports attempts and costs that an export leaves out.
func (o *output) printOmitted(left report.Omitted) {
	const where = "weir ledger export --format csv has them, with the unpriced classes in the column unpriced"
	if left.Whole > 0 {
		fmt.Fprintf(o.stderr,
			"%d attempts were left out because their cost is unknown, and FOCUS has no unknown costs; %s\n",
			left.Whole, where)
	}
	if left.Part > 0 {
		fmt.Fprintf(o.stderr, "%d attempts have only the known part of their cost; %s\n", left.Part, where)
	}
}

// exportFlags holds the account and the dates of an export.
type exportFlags struct{ account, from, to string }

func (f *exportFlags) define(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.account, "account", "", "only this account")
	cmd.Flags().StringVar(&f.from, "start-date", "", "first UTC date")
	cmd.Flags().StringVar(&f.to, "end-date", "", "last UTC date")
}

func newLedgerExplain(env *environment) *cobra.Command {
	var dates exportFlags
	cmd := &cobra.Command{
		Use: "explain", Short: "Print the usage behind each day's sums, by account, model and price",
		Long: "Print as CSV the usage behind each day's sums: usage by class, count and cost for each account,\n" +
			"model and version of the price, with the price's terms in pico-dollars. Days with deleted request\n" +
			"rows are included, for the time of retention.explanations.",
		Example: "  weir ledger explain --account research --start-date 2025-01-01 --end-date 2025-12-31", Args: noArgs,
		RunE: env.data(func(ctx context.Context, d *admin.Admin, _ []string) error {
			out := csv.NewWriter(env.stdout)
			if err := out.Write(explainHeads()); err != nil {
				return err
			}
			err := d.Ledger.Explain(ctx, dates.account, dates.from, dates.to, func(x *report.Explanation) error {
				return out.Write(explainRow(x))
			})
			out.Flush()
			return errors.Join(err, out.Error())
		}),
	}
	dates.define(cmd)
	return cmd
}

func explainHeads() []string {
	heads := []string{
		"date", "account", "model", "price", "requests", "attempts", "unpriced", "estimated", "unknown",
		"cost_usd", "cost_at_most_usd",
	}
	for c := range llm.NumClasses {
		heads = append(heads, llm.Class(c).String())
	}
	return append(heads, "terms", "charge_usd", "charge_at_most_usd", "charge_unpriced")
}

func explainRow(x *report.Explanation) []string {
	bought, atMost := x.Purchase(x.Cost, x.Uncertain)
	row := []string{
		x.Date, x.Account, audit.PlainCell(x.Model), audit.PlainCell(x.Price), count(x.Requests), count(x.Attempts),
		count(x.PurchaseUnpriced(x.Unpriced)), count(x.Estimated), count(x.Unknown), bought.Fixed(), atMost.Fixed(),
	}
	for _, n := range x.Usage {
		row = append(row, count(n))
	}
	return append(row, x.Terms, x.Cost.Fixed(), (x.Cost + x.Uncertain).Fixed(), count(x.Unpriced))
}
