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

	"weir/internal/api"
	"weir/internal/app"
	"weir/internal/llm"
	"weir/internal/reconcile"
)

func newReconcile(env *environment) *cobra.Command {
	var keyFile, from, to string
	var files, services []string
	var all, resolve bool
	cmd := env.jsonFlag(&cobra.Command{
		Use: "reconcile PROVIDER", Short: "Compare the ledger with what a provider reports that it charges",
		Long: "Asks a provider what was used and what it charges, and compares that with the ledger, by UTC day and model. " +
			"Each difference is named: rounding; midnight (the provider counts some of it on the day before or after); " +
			"unseen (requests whose end nobody saw, within their bounds); unpriced (the ledger has no price); price; cache; more (others use its keys, or the " +
			"ledger lacks something); less; mixed. The command fails where a difference is none of the first three. " +
			"OpenAI and Anthropic report to an admin key of the organization, OpenRouter to a management key: admin_key " +
			"of the provider in the configuration, or a file. Other clouds export billing files: --file compares one of " +
			"FOCUS by day (AWS Data Exports, Google Cloud's billing export, Microsoft's Cost Management; CSV or Parquet, as it is or in gzip or zip), " +
			"of the services that --service names; without it the command says which there are.",
		Example: "  weir reconcile openai --start-date 2026-11-01 --end-date 2026-11-25\n" +
			"  weir reconcile anthropic --admin-key-file anthropic-admin-key\n" +
			"  weir reconcile bedrock --file focus-2026-11.parquet --service 'Amazon Bedrock' --service '*(Amazon Bedrock Edition)'",
		Args: oneArg("PROVIDER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o := app.ReconcileOptions{Provider: args[0], Resolve: resolve}
			var err error
			if keyFile != "" {
				if o.AdminKey, err = readSecret(keyFile); err != nil {
					return err
				}
			}
			o.File, o.Getenv = env.configOptions(""), os.Getenv
			if len(files) > 0 {
				return env.reconcileBill(cmd, o, billOptions{files, services, from, to, all})
			}
			if o.From, err = dayOr(from, time.Now().AddDate(0, 0, -7)); err == nil {
				o.To, err = dayOr(to, time.Now().AddDate(0, 0, -1))
			}
			if err != nil {
				return err
			}
			return env.withData(cmd, func(d *app.Data) error { return env.reconcile(cmd.Context(), d, o, all) })
		},
	})
	cmd.Flags().StringVar(&keyFile, "admin-key-file", "", "file with the admin key, in place of admin_key in the configuration; - for standard input")
	cmd.Flags().StringVar(&from, "start-date", "", "first UTC day (default seven days ago, or the first of the file)")
	cmd.Flags().StringVar(&to, "end-date", "", "last UTC day (default yesterday, or the last of the file)")
	cmd.Flags().StringArrayVar(&files, "file", nil, "billing file in FOCUS to compare with, may be repeated; - for standard input")
	cmd.Flags().StringArrayVar(&services, "service", nil, "name of a service in it that the provider's models are of, with * for any "+
		"text, may be repeated")
	cmd.Flags().BoolVar(&resolve, "resolve", false, "resolve attempts whose end nobody saw, where the provider's figures "+
		"decide what they used: only where nothing else uses the provider's keys")
	cmd.MarkFlagsMutuallyExclusive("file", "admin-key-file")
	cmd.MarkFlagsMutuallyExclusive("file", "resolve")
	cmd.Flags().BoolVar(&all, "all", false, "list what agrees too")
	return cmd
}

// readSecret reads the first line of a file.
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
		err = errors.New("there is no key in the file")
	}
	return llm.NewSecret(line), err
}

// dayOr is a day as people write it, or the one of a moment.
func dayOr(text string, moment time.Time) (time.Time, error) {
	if text == "" {
		text = moment.UTC().Format(time.DateOnly)
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return at, fmt.Errorf("%q is no day: write one such as 2026-11-30", text)
	}
	return at, nil
}

func (env *environment) reconcile(ctx context.Context, d *app.Data, o app.ReconcileOptions, all bool) error {
	r, err := d.Reconcile(ctx, o)
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
		fmt.Fprintf(env.stderr, "attempts that the provider's figures have resolved: %d\n", r.Resolved)
	}
	heads := []string{"DATE", "MODEL", "TOKENS OURS", "THEIRS", "COST OURS", "THEIRS", "FINDING"}
	if err := list(env, views, heads, reconciledCells); err != nil {
		return err
	}
	if open > 0 {
		return fmt.Errorf("%d of %d rows differ, and the difference is not explained", open, len(r.Rows))
	}
	if env.asJSON {
		return nil
	}
	lines := []string{"Each row agrees, or its difference is explained. Rows: " + count(int64(len(r.Rows)))}
	if r.Other != 0 {
		lines = append(lines, "The provider charges $"+r.Other.String()+" for what is of no model.")
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
