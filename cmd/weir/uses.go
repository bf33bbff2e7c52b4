package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/api"
	"weir/internal/report"
)

func newUses(env *environment) *cobra.Command {
	names := []string{"start_date", "end_date", "model", "key", "group_by", "limit", "offset"}
	values := make([]string, len(names))
	var account string
	var tags []string
	cmd := env.jsonFlag(&cobra.Command{
		Use: "uses", Short: "Show the usage of an account: tokens, requests, cost",
		Example: "  weir uses --account default\n  weir uses --account default --start-date 2026-01-01 --model " +
			"openai/gpt-5-mini --json\n  weir uses --account default --group-by month,key\n" +
			"  weir uses --account default --group-by tag:project --tag team=search",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			params := map[string]string{}
			for i, name := range names {
				params[name] = values[i]
			}
			selected, err := parseTags(tags)
			if err != nil {
				return err
			}
			for _, t := range selected {
				params["tag."+t.Name] = t.Value
			}
			return env.withData(cmd, func(d *admin.Admin) error {
				q, page, err := d.Ledger.Uses(cmd.Context(), account, params)
				if err != nil {
					return err
				}
				if i := slices.Index(q.By, report.ByKey); i >= 0 && !env.asJSON {
					if err := nameKeys(cmd.Context(), d, account, i, page.Uses); err != nil {
						return err
					}
				}
				return env.printUses(q, page)
			})
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&account, "account", "", "name of the account")
	flags.StringVar(&values[0], "start-date", "", "first UTC date, such as 2026-01-31")
	flags.StringVar(&values[1], "end-date", "", "last UTC date")
	flags.StringVar(&values[2], "model", "", "only this model, <provider>/<model-name>")
	flags.StringVar(&values[3], "key", "", "only the API key with this id")
	flags.StringVar(&values[4], "group-by", "",
		"group by a comma-separated list of model, provider, key, user, tag:NAME, day, hour, month (default day,model)")
	flags.StringVar(&values[5], "limit", "", "maximum number of entries, 1 to 1000 (default 100)")
	flags.StringVar(&values[6], "offset", "", "number of entries to skip")
	flags.StringArrayVar(&tags, "tag", nil, "only requests with this tag, NAME=VALUE; may be repeated")
	_ = cmd.MarkFlagRequired("account") // the flag is defined above
	return cmd
}

// nameKeys adds the labels of API keys to their ids, which are the groups at index i.
func nameKeys(ctx context.Context, d *admin.Admin, account string, i int, uses []report.Use) error {
	keys, err := d.Accounts.Keys(ctx, account)
	labels := make(map[string]string, len(keys))
	for k := range keys {
		labels[keys[k].ID] = keys[k].Label
	}
	for u := range uses {
		id := uses[u].Group[i]
		if id != nil && labels[*id] != "" {
			uses[u].Group[i] = new(*id + " " + labels[*id])
		}
	}
	return err
}

func (o *output) printUses(q report.UsesQuery, page report.UsesPage) error {
	if o.asJSON {
		body, err := api.EncodeUses(q, page)
		if err != nil {
			return err
		}
		_, err = o.stdout.Write(append(body, '\n'))
		return err
	}
	heads := []string{"DATE", "MODEL"}
	if len(q.By) > 0 {
		heads = nil
		for _, d := range q.By {
			heads = append(heads, strings.ToUpper(string(d)))
		}
	}
	rows := make([][]string, 0, len(page.Uses)+1)
	for i := range page.Uses {
		rows = append(rows, append(usesNames(&page.Uses[i]), usesFigures(&page.Uses[i])...))
	}
	t := &page.Total
	total := usesCost(&report.Use{Cost: t.Cost, Uncertain: t.Uncertain, Unpriced: t.Unpriced, Margin: t.Margin})
	last := append([]string{"total"}, make([]string, len(heads)-1)...)
	rows = append(rows, append(last, count(t.Requests), count(t.Tokens), total))
	if err := printTable(o.stdout, append(heads, "REQUESTS", "TOKENS", "COST"), rows); err != nil {
		return err
	}
	if end := q.Offset + len(page.Uses); end < page.Count {
		_, err := fmt.Fprintf(o.stdout, "Entries up to %d of %d; the total covers all entries. See more with "+
			"--offset %d, or a larger --limit.\n",
			end, page.Count, end)
		return err
	}
	return nil
}

// usesNames returns the first cells of an entry: its date and model, or its group.
func usesNames(u *report.Use) []string {
	if u.Group == nil {
		return []string{u.Date, u.Model}
	}
	cells := make([]string, len(u.Group))
	for i, value := range u.Group {
		if cells[i] = "-"; value != nil {
			cells[i] = *value
		}
	}
	return cells
}

// usesFigures returns the other cells: requests, tokens and cost.
func usesFigures(u *report.Use) []string {
	return []string{count(u.Requests), count(u.Usage.TotalTokens()), usesCost(u)}
}

// usesCost formats the account's charge and, with a price list, the cost at the providers.
func usesCost(u *report.Use) string {
	cost := "$" + u.Cost.String()
	if u.Unpriced > 0 {
		cost += " + unpriced"
	}
	if u.Uncertain > 0 {
		cost += ", at most $" + u.AtMost().String()
	}
	if u.Margin != (report.Margin{}) {
		cost += ", purchase cost $" + u.Bought().String()
		if u.PurchaseUnpriced(u.Unpriced) > 0 {
			cost += " + unpriced"
		}
	}
	return cost
}

func count(n int64) string { return strconv.FormatInt(n, 10) }
