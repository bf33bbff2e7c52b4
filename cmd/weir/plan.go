package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/api"
	"weir/internal/config"
	"weir/internal/managed"
	"weir/internal/plan"
)

func newPlan(env *environment) *cobra.Command {
	var file string
	var days int
	var each bool
	cmd := env.jsonFlag(&cobra.Command{
		Use: "plan", Short: "Show what a change would have done to the requests of the last days",
		Long: "Replay the recorded requests of the last days against changed limits, budgets, keys, aliases or\n" +
			"prices. For each account and key, print how many requests would have been refused or answered by\n" +
			"another model, and their cost. The file has the members of a file for weir apply, and also accounts\n" +
			"with limits and a budget, by name or id, and keys with limits, a budget and models, by id. It may\n" +
			"also replace what is set in weir.yaml. Nothing is changed.",
		Example: "  weir plan -f change.yaml --days 30\n" +
			"  echo '{accounts: {research: {budget: {limit_usd: 50, period: day}}}}' | weir plan -f -",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := readChange(file)
			if err != nil {
				return err
			}
			a, err := parsePlan(file, text)
			if err != nil {
				return err
			}
			a.Days = days
			var changed []api.PlanDecision
			if each {
				a.Decided = func(d *plan.Decision) {
					if d.Refused != plan.NotRefused || d.Target != "" {
						changed = append(changed, api.PlanDecisionOf(d))
					}
				}
			}
			return env.withData(cmd, func(d *admin.Admin) error {
				r, err := d.Plans.Ask(cmd.Context(), a)
				if err != nil {
					return asTyped(err)
				}
				return env.printPlan(&r, changed)
			})
		},
	})
	cmd.Flags().StringVarP(&file, "file", "f", "", "file with the change; - for standard input")
	cmd.Flags().IntVar(&days, "days", 0, "number of UTC days, including today (default 7)")
	cmd.Flags().BoolVar(&each, "requests", false, "list the requests that would have been refused or answered "+
		"elsewhere")
	_ = cmd.MarkFlagRequired("file") // the flag is defined above
	return cmd
}

// parsePlan parses the file of a plan: a file for weir apply, with accounts and keys.
func parsePlan(file string, text []byte) (a plan.Ask, err error) {
	tree, err := config.ParseTree(file, text)
	if err != nil {
		return a, err
	}
	a.Change.Text, a.Change.File = text, file // unchanged if possible, so that mistakes have their places
	for what, to := range map[string]*map[string]plan.Change{"accounts": &a.Scopes.Accounts, "keys": &a.Scopes.Keys} {
		part, there := tree[what]
		if !there {
			continue
		}
		object, err := json.Marshal(part)
		if err == nil {
			*to, err = plan.ParseChanges(what, object)
		}
		if err != nil {
			return a, err
		}
		delete(tree, what)
		if a.Change.Text, err = json.Marshal(tree); err != nil {
			return a, err
		}
		a.Change.File = ""
	}
	if len(tree) == 0 {
		a.Change = managed.Edit{}
	}
	return a, nil
}

func (o *output) printPlan(r *plan.Result, changed []api.PlanDecision) error {
	v := api.PlanOf(r)
	v.Changed = changed
	if o.asJSON {
		return printJSON(o.stdout, v)
	}
	heads := []string{"ACCOUNT", "KEY", "REQUESTS", "REFUSED", "ELSEWHERE", "ESTIMATES", "CHARGED", "PLANNED"}
	total := v.Total
	total.AccountName = "all"
	if err := printTable(o.stdout, heads, rowsOf(append(v.Rows, total), planCells)); err != nil {
		return err
	}
	if len(changed) > 0 {
		if err := o.printLines([]string{""}); err != nil {
			return err
		}
		heads := []string{"REQUEST", "MODEL", "REFUSED", "ELSEWHERE", "CHARGED", "PLANNED", "ESTIMATE"}
		if err := printTable(o.stdout, heads, rowsOf(changed, decisionCells)); err != nil {
			return err
		}
	}
	return o.printLines(planNotes(&v))
}

func planCells(r *api.PlanRow) []string {
	refused := fmt.Sprint(r.Refused.Model + r.Refused.Limit + r.Refused.Budget)
	by := map[string]int64{"model": r.Refused.Model, "limit": r.Refused.Limit, "budget": r.Refused.Budget}
	for what, n := range by {
		if n > 0 && refused == fmt.Sprint(n) {
			refused += " (" + what + ")"
		}
	}
	return []string{
		r.AccountName, r.KeyLabel, count(r.Requests), refused, count(r.Elsewhere), count(r.Estimated), "$" + r.Charged,
		"$" + r.Planned,
	}
}

func decisionCells(d *api.PlanDecision) []string {
	estimate := ""
	if d.Estimated {
		estimate = "estimate"
	}
	return []string{d.Request, d.Model, string(d.Refused), d.Target, "$" + d.Charged, "$" + d.Planned, estimate}
}

func planNotes(v *api.Plan) []string {
	notes := []string{"The replay assumes that clients do not retry refused requests. Requests that were refused " +
		"at the time are not recorded."}
	if v.Total.Estimated > 0 {
		notes = append(notes, "Estimates: the record does not show exactly how many tokens a request reserved, or how "+
			"another model would have answered. Later results of the same account depend on it.")
	}
	if v.Cut {
		notes = append(notes, "There are too many requests to replay: choose fewer days.")
	}
	return notes
}
