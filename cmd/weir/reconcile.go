package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/api"
	"weir/internal/llm"
	"weir/internal/reconcile"
)

func newReconcile(env *environment) *cobra.Command {
	var keyFile, from, to string
	var files, services []string
	var all, resolve bool
	cmd := env.jsonFlag(&cobra.Command{
		Use: "reconcile PROVIDER", Short: "Compare the ledger with a provider's report of usage and charges",
		Long: "Request a provider's report of usage and charges, and compare it with the ledger, by UTC day and\n" +
			"model. Each difference gets a finding: rounding; midnight (the provider counts some usage on the\n" +
			"day before or after); unseen (requests with an unknown end, within their bounds); unpriced (the\n" +
			"ledger has no price); price; cache; more (the provider reports more: others use its keys, or the\n" +
			"ledger lacks usage); less; mixed. The command fails if a finding is not one of the first three.\n" +
			"OpenAI and Anthropic need an admin key of the organization, OpenRouter a management key: set the\n" +
			"provider's admin_key in the configuration, or give a file. Other clouds export billing files:\n" +
			"--file compares a file in FOCUS by day (AWS Data Exports, Google Cloud's billing export,\n" +
			"Microsoft's Cost Management; CSV or Parquet, uncompressed or in gzip or zip), for the services that\n" +
			"--service names. Without --service the command lists the services in the file.",
		Example: "  weir reconcile openai --start-date 2026-11-01 --end-date 2026-11-25\n" +
			"  weir reconcile anthropic --admin-key-file anthropic-admin-key\n" +
			"  weir reconcile bedrock --file focus-2026-11.parquet --service 'Amazon Bedrock' --service " +
			"'*(Amazon Bedrock Edition)'",
		Args: oneArg("PROVIDER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o := admin.ReconcileOptions{Provider: args[0], Resolve: resolve}
			var err error
			if keyFile != "" {
				if o.AdminKey, err = readSecret(keyFile); err != nil {
					return err
				}
			}
			if len(files) > 0 {
				return env.reconcileBill(cmd, o, billOptions{files, services, from, to, all})
			}
			if o.From, err = dayOr(from, time.Now().AddDate(0, 0, -7)); err == nil {
				o.To, err = dayOr(to, time.Now().AddDate(0, 0, -1))
			}
			if err != nil {
				return err
			}
			return env.withData(cmd, func(d *admin.Admin) error { return env.reconcile(cmd.Context(), d, o, all) })
		},
	})
	cmd.Flags().StringVar(&keyFile, "admin-key-file", "", "file with the admin key, instead of admin_key in the "+
		"configuration; - for standard input")
	cmd.Flags().StringVar(&from, "start-date", "", "first UTC day (default seven days ago, or the first of the file)")
	cmd.Flags().StringVar(&to, "end-date", "", "last UTC day (default yesterday, or the last of the file)")
	cmd.Flags().StringArrayVar(&files, "file", nil, "billing file in FOCUS to compare with; may be repeated; - "+
		"for standard input")
	cmd.Flags().StringArrayVar(&services, "service", nil, "name of a service in the file that sells the "+
		"provider's models, "+
		"with * for any text; may be repeated")
	cmd.Flags().BoolVar(&resolve, "resolve", false, "resolve attempts with an unknown end from the provider's "+
		"figures, if "+
		"these decide their usage; use it only if nothing else uses the provider's keys")
	cmd.MarkFlagsMutuallyExclusive("file", "admin-key-file")
	cmd.MarkFlagsMutuallyExclusive("file", "resolve")
	cmd.Flags().BoolVar(&all, "all", false, "list rows that agree, too")
	return cmd
}

// readSecret reads the first line of a file, or of standard input for "-".
func readSecret(path string) (llm.Secret, error) {
	const most = 4096
	in := io.Reader(os.Stdin)
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return llm.Secret{}, err
		}
		defer f.Close() //nolint:errcheck // it was only read
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, most))
	line, _, _ := strings.Cut(string(text), "\n")
	if line = strings.TrimSpace(line); err == nil && line == "" {
		err = errors.New("the file has no key: write it into the first line")
	}
	return llm.NewSecret(line), err
}

// dayOr parses a UTC date, or returns the date of a time if the text is empty.
func dayOr(text string, moment time.Time) (time.Time, error) {
	if text == "" {
		text = moment.UTC().Format(time.DateOnly)
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return at, fmt.Errorf("%q is not a date: write one such as 2026-11-30", text)
	}
	return at, nil
}

func (env *environment) reconcile(ctx context.Context, d *admin.Admin, o admin.ReconcileOptions, all bool) error {
	r, err := d.Reconciliation.Compare(ctx, o)
	if err != nil {
		return err
	}
	views, open := []api.ReconciledRow{}, r.Unexplained()
	for i := range r.Rows {
		row := &r.Rows[i]
		if all || env.asJSON || row.Finding != reconcile.Agrees {
			views = append(views, api.ReconciledRowOf(row))
		}
	}
	if o.Resolve {
		fmt.Fprintf(env.stderr, "attempts resolved from the provider's figures: %d\n", r.Resolved)
	}
	heads := []string{"DATE", "MODEL", "LEDGER TOKENS", "PROVIDER TOKENS", "LEDGER COST", "PROVIDER COST", "FINDING"}
	if err := list(&env.output, views, heads, reconciledCells); err != nil {
		return err
	}
	if open > 0 {
		return fmt.Errorf("%d of %d rows have an unexplained difference", open, len(r.Rows))
	}
	if env.asJSON {
		return nil
	}
	lines := []string{"All rows agree, or their differences are explained. Rows: " + count(int64(len(r.Rows)))}
	if r.Other != 0 {
		lines = append(lines, "The provider also charges $"+r.Other.String()+" that belongs to no model.")
	}
	return env.printLines(lines)
}

func reconciledCells(v *api.ReconciledRow) []string {
	cost := "unknown"
	if v.TheirsUSD != nil {
		cost = "$" + *v.TheirsUSD
	}
	return []string{
		v.Date, v.Model, count(v.Ours.Input + v.Ours.Output), count(v.Theirs.Input + v.Theirs.Output), "$" + v.OursUSD,
		cost, string(v.Finding),
	}
}
