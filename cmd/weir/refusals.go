package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/refusal"
)

// refusalFlags holds the flags that select refusals.
type refusalFlags struct {
	account, key, reason, model, since, groups string
	latest                                     bool
}

func newRefusals(env *environment) *cobra.Command {
	var f refusalFlags
	cmd := env.jsonFlag(&cobra.Command{
		Use: "refusals", Short: "Count requests that were refused, or list the latest",
		Long: "Count the requests that got an error without an attempt at a provider: because of a limit, a\n" +
			"budget, a missing permission, an unknown model, a mistake in the request or overload. They cost\n" +
			"nothing and are not in the ledger. The reason is the error code. Requests without a valid key have\n" +
			"no account. A running gateway writes the counts every second.",
		Example: "  weir refusals\n  weir refusals --account default --since 168h --group-by day,reason\n" +
			"  weir refusals --latest --reason RATE_LIMITED --json",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.withData(cmd, func(d *admin.Admin) error {
				q, err := f.query(d.Now())
				if err != nil {
					return err
				}
				r, err := d.Refusals.ReadOf(cmd.Context(), f.account, q)
				if err != nil {
					return err
				}
				if f.latest {
					heads := []string{"ID", "TIME", "ACCOUNT", "KEY", "REASON", "MODEL", "MESSAGE"}
					return list(&env.output, r.Latest, heads, refusalRow)
				}
				return env.printRefusals(q.By, &r)
			})
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&f.account, "account", "", "only this account")
	flags.StringVar(&f.key, "key", "", "only the API key with this id")
	flags.StringVar(&f.reason, "reason", "", "only this error code, such as RATE_LIMITED")
	flags.StringVar(&f.model, "model", "", "only this requested model")
	flags.StringVar(&f.since, "since", "24h", "only since a UTC date or time, or of the last duration")
	flags.StringVar(&f.groups, "group-by", "account,key,reason,model",
		"group by a comma-separated list of account, key, reason, model, minute, hour, day")
	flags.BoolVar(&f.latest, "latest", false, fmt.Sprintf("list the latest in place of counts; %d of each account are "+
		"stored", refusal.MostLatest))
	return cmd
}

func (f *refusalFlags) query(now time.Time) (q refusal.Query, err error) {
	q = refusal.Query{Key: f.key, Model: f.model, Reason: llm.Code(f.reason)}
	if q.From, err = parseTime("since", f.since, now); err != nil {
		return q, err
	}
	if q.By, err = refusal.ParseGroups(f.groups); err != nil {
		return q, err
	}
	return q, q.Check()
}

func refusalRow(x *admin.RefusedRequest) []string {
	return []string{
		x.ID, x.Arrived.Format(time.RFC3339), orNone(x.AccountName), orNone(cmp.Or(x.KeyLabel, x.KeyID)),
		string(x.Reason), orNone(x.Model), x.Message,
	}
}

// printRefusals prints counts by the groups of a query, and their total.
func (o *output) printRefusals(by []refusal.Group, r *admin.RefusalReport) error {
	if o.asJSON {
		return printJSON(o.stdout, r.Counts)
	}
	heads := []string{"REFUSED"}
	for _, g := range by {
		heads = append(heads, strings.ToUpper(string(g)))
	}
	rows := [][]string{{count(r.Total), "total"}}
	for i := range r.Counts {
		rows = append(rows, refusalCells(by, &r.Counts[i]))
	}
	return printTable(o.stdout, heads, rows)
}

// refusalCells returns a row of counts.
func refusalCells(by []refusal.Group, c *admin.RefusalCount) []string {
	cells := []string{count(c.Count)}
	for _, g := range by {
		var value string
		switch g {
		case refusal.ByAccount:
			value = *c.AccountName
		case refusal.ByKey:
			value = cmp.Or(*c.KeyLabel, *c.KeyID)
		case refusal.ByReason:
			value = string(*c.Reason)
		case refusal.ByModel:
			value = *c.Model
		default:
			value = c.Start.Format(time.RFC3339)
		}
		cells = append(cells, orNone(value))
	}
	return cells
}
