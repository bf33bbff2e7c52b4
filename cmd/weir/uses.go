package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/api"
	"weir/internal/config"
	"weir/internal/report"
)

func newUses(env *environment) *cobra.Command {
	var f usesFlags
	cmd := env.jsonFlag(&cobra.Command{
		Use: "uses", Short: "Show the usage of an account or of all: tokens, requests, cost",
		Long: "Show the usage of an account, or of all accounts, by date and model or by other groups. A running\n" +
			"gateway writes its usage every second. --since and --until are for parts of days. Minutes are\n" +
			"available for the last 48 hours.",
		Example: "  weir uses --account default\n  weir uses --account default --start-date 2026-01-01 --model " +
			"openai/gpt-5-mini --json\n  weir uses --account default --group-by month,key\n" +
			"  weir uses --account default --group-by tag:project --tag team=search\n" +
			"  weir uses --since 24h --group-by hour,account --top 5",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.withData(cmd, func(d *admin.Admin) error {
				params, err := f.params(d.Now())
				if err != nil {
					return err
				}
				q, page, err := d.Ledger.Uses(cmd.Context(), f.account, params)
				if err != nil {
					return err
				}
				if !env.asJSON {
					if err := nameGroups(cmd.Context(), d, q.By, page.Uses); err != nil {
						return err
					}
				}
				return env.printUses(q, page)
			})
		},
	})
	f.add(cmd)
	return cmd
}

// usesFlags holds the flags that select usage.
type usesFlags struct {
	account, since, until string
	values                map[string]*string // by the names of the parameters of GET /v1/uses
	tags                  []string
}

func (f *usesFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.account, "account", "", "name of the account (default all accounts)")
	flags.StringVar(&f.since, "since", "", "only since a UTC date or time, or of the last duration such as 24h")
	flags.StringVar(&f.until, "until", "", "only before a UTC date or time, or until a duration ago such as 1h")
	f.values = map[string]*string{}
	for _, flag := range []struct{ name, usage string }{
		{"start-date", "first UTC date, such as 2026-01-31"},
		{"end-date", "last UTC date"},
		{"model", "only this model, <provider>/<model-name>"},
		{"provider", "only this provider"},
		{"key", "only the API key with this id"},
		{"user", "only this end user"},
		{"group-by", "group by a comma-separated list of account, model, provider, key, user, tag:NAME, minute, " +
			"hour, day, month (default day,model)"},
		{"sort", "list the groups with most of this first: cost, requests, tokens, input_tokens, output_tokens, " +
			"cached_tokens, missed_tokens, missed_cost, attempts, errors, cached_requests, saved, or a class of usage"},
		{"top", "number of groups that are listed separately; the others are added up as (other)"},
		{"limit", "maximum number of entries, 1 to 1000 (default 100)"},
		{"offset", "number of entries to skip"},
	} {
		f.values[strings.ReplaceAll(flag.name, "-", "_")] = flags.String(flag.name, "", flag.usage)
	}
	flags.StringArrayVar(&f.tags, "tag", nil, "only requests with this tag, NAME=VALUE; may be repeated")
}

// params returns the parameters of GET /v1/uses.
func (f *usesFlags) params(now time.Time) (map[string]string, error) {
	params := map[string]string{}
	for name, value := range f.values {
		params[name] = *value
	}
	if isLong(f.since) {
		now = now.Truncate(time.Hour)
	}
	from, err := parseTime("since", f.since, now)
	if err != nil {
		return nil, err
	}
	to, err := parseTime("until", f.until, now)
	if err != nil {
		return nil, err
	}
	for name, at := range map[string]time.Time{"from": from, "to": to} {
		if !at.IsZero() {
			params[name] = at.Format(time.RFC3339)
		}
	}
	tags, err := parseTags(f.tags)
	for _, t := range tags {
		params[report.TagParameter+t.Name] = t.Value
	}
	return params, err
}

// isLong reports whether a text is a duration for which there is no usage by minute: it then means whole hours.
func isLong(text string) bool {
	d, ok := config.ParseDuration(text)
	return ok && d > 47*time.Hour
}

// nameGroups adds the labels of API keys to their ids, and replaces the ids of accounts by their names.
func nameGroups(ctx context.Context, d *admin.Admin, by []report.Dimension, uses []report.Use) error {
	accounts, err := d.AccountNames(ctx)
	if err != nil {
		return err
	}
	names := map[report.Dimension]map[string]string{report.ByAccount: accounts, report.ByKey: {}}
	if slices.Contains(by, report.ByKey) {
		for id := range accounts {
			keys, err := d.Accounts.Keys(ctx, id)
			if err != nil {
				return err
			}
			for k := range keys {
				names[report.ByKey][keys[k].ID] = keys[k].ID + " " + keys[k].Label
			}
		}
	}
	for u := range uses {
		for i, d := range by {
			if id := uses[u].Group[i]; id != nil && names[d][*id] != "" {
				uses[u].Group[i] = new(names[d][*id])
			}
		}
	}
	return nil
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
