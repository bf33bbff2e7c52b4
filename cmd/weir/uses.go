package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"weir/internal/api"
	"weir/internal/app"
	"weir/internal/report"
)

func newUses(env *environment) *cobra.Command {
	names := []string{"start_date", "end_date", "model", "limit", "offset"}
	values := make([]string, len(names))
	var account string
	cmd := env.jsonFlag(&cobra.Command{
		Use: "uses", Short: "Show what an account used: tokens, requests, cost",
		Example: "  weir uses --account default\n  weir uses --account default --start-date 2026-01-01 --model " +
			"openai/gpt-5-mini --json",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			params := map[string]string{}
			for i, name := range names {
				params[name] = values[i]
			}
			return env.withData(cmd, func(d *app.Data) error {
				q, page, err := d.Uses(cmd.Context(), account, params)
				if err != nil {
					return err
				}
				return env.printUses(q, page)
			})
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&account, "account", "", "name of the account")
	flags.StringVar(&values[0], "start-date", "", "from this UTC date on, such as 2026-01-31")
	flags.StringVar(&values[1], "end-date", "", "up to and with this UTC date")
	flags.StringVar(&values[2], "model", "", "of this <provider>/<model-name> alone")
	flags.StringVar(&values[3], "limit", "", "at most so many entries, 1 to 1000 (default 100)")
	flags.StringVar(&values[4], "offset", "", "skip so many entries")
	_ = cmd.MarkFlagRequired("account") // the flag is defined above
	return cmd
}

func (env *environment) printUses(q report.UsesQuery, page report.UsesPage) error {
	if env.asJSON {
		body, err := api.EncodeUses(q, page)
		if err != nil {
			return err
		}
		_, err = env.stdout.Write(append(body, '\n'))
		return err
	}
	rows := make([][]string, 0, len(page.Uses)+1)
	for i := range page.Uses {
		u := &page.Uses[i]
		cost := "$" + u.Cost.String()
		if u.Unpriced {
			cost += " + unpriced"
		}
		if u.Uncertain > 0 {
			cost += ", at most $" + u.AtMost().String()
		}
		rows = append(rows, []string{u.Date, u.Model, count(u.Requests), count(u.Usage.TotalTokens()), cost})
	}
	t := &page.Total
	total := "$" + t.Cost.String()
	if t.Uncertain > 0 {
		total += ", at most $" + t.AtMost().String()
	}
	rows = append(rows, []string{"total", "", count(t.Requests), count(t.Tokens), total})
	return printTable(env.stdout, []string{"DATE", "MODEL", "REQUESTS", "TOKENS", "COST"}, rows)
}

func count(n int64) string { return strconv.FormatInt(n, 10) }
