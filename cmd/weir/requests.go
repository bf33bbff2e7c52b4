package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/api"
	"weir/internal/llm"
	"weir/internal/report"
)

func newRequests(env *environment) *cobra.Command {
	return group("requests", "List requests, and show one by its id", newRequestsList(env), newRequestsShow(env))
}

// requestFilter is a flag that selects requests by a parameter of report.ParseRequests.
type requestFilter struct{ name, about string }

func requestFilters() []requestFilter {
	return []requestFilter{
		{"id", "only the request, attempt or provider's reply with this id"},
		{"socket", "only the requests of the WebSocket with this id"},
		{"key", "only the API key with this id"},
		{"model", "only this model, tried or requested"},
		{"requested_model", "only this model as the client wrote it"},
		{"ended", "ok, error, or unseen: with an unresolved attempt that has an unknown end"},
		{"status", "only with this HTTP status of an attempt"},
		{"error_code", "only with this error code of an attempt"},
		{"user", "only this end user"},
		{"min_cost_usd", "the least cost in US dollars"},
		{"max_cost_usd", "the most cost in US dollars"},
		{"from", "the earliest arrival, a UTC date or time"},
		{"to", "the latest arrival, not included"},
	}
}

func newRequestsList(env *environment) *cobra.Command {
	var account string
	var tags []string
	var limit int
	filters := requestFilters()
	values := make([]string, len(filters))
	cmd := env.jsonFlag(&cobra.Command{
		Use: "list", Short: "List the requests of an account, newest first",
		Long: "List the requests of an account that reached an attempt at a provider, newest first. The others are\n" +
			"in weir refusals.",
		Example: "  weir requests list --account default --error-code PROVIDER_ERROR\n" +
			"  weir requests list --account default --user ada --tag team=search --min-cost-usd 0.05 --json\n" +
			"  weir requests list --account default --from 2026-01-31T12:00:00Z --to 2026-01-31T13:00:00Z",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			params := map[string]string{}
			for i := range filters {
				params[filters[i].name] = values[i]
			}
			selected, err := parseTags(tags)
			if err != nil {
				return err
			}
			for _, t := range selected {
				params[report.TagParameter+t.Name] = t.Value
			}
			if limit < 1 || limit > report.MaxRequests {
				return usageError{fmt.Errorf("--limit is from 1 to %d; got %d", report.MaxRequests, limit)}
			}
			return env.withData(cmd, func(d *admin.Admin) error {
				all, more, err := d.Ledger.Requests(cmd.Context(), account, params, limit)
				if err != nil {
					return err
				}
				return env.printRequests(all, more)
			})
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&account, "account", "", "name of the account")
	for i, f := range filters {
		flags.StringVar(&values[i], strings.ReplaceAll(f.name, "_", "-"), "", f.about)
	}
	flags.StringArrayVar(&tags, "tag", nil, "only requests with this tag, NAME=VALUE; may be repeated")
	flags.IntVar(&limit, "limit", 50, fmt.Sprintf("maximum number of requests, 1 to %d", report.MaxRequests))
	_ = cmd.MarkFlagRequired("account") // the flag is defined above
	return cmd
}

func (o *output) printRequests(all []report.Request, more bool) error {
	if o.asJSON {
		return printJSON(o.stdout, api.ViewRequests(all))
	}
	heads := []string{"ID", "TIME", "MODEL", "OUTCOME", "CODE", "TOKENS", "COST", "TOOK", "USER", "TAGS"}
	if err := printTable(o.stdout, heads, rowsOf(all, requestRow)); err != nil {
		return err
	}
	if more {
		_, err := fmt.Fprintln(o.stdout, "There are more requests: choose a smaller period, or a larger --limit.")
		return err
	}
	return nil
}

func requestRow(r *report.Request) []string {
	return []string{
		r.ID.String(), r.Arrived.Format(time.RFC3339), r.Model, string(r.Outcome), orNone(string(r.Code)),
		count(r.Usage.TotalTokens()), requestCost(r), tookText(r.Duration), orNone(r.User),
		orNone(llm.FormatTags(r.Tags)),
	}
}

// requestCost formats the account's charge.
func requestCost(r *report.Request) string {
	cost := "$" + r.Cost.String()
	if r.Unpriced != 0 {
		cost += " + unpriced"
	}
	if r.AtMost > r.Cost {
		cost += ", at most $" + r.AtMost.String()
	}
	return cost
}

func tookText(d time.Duration) string {
	if d == 0 {
		return none
	}
	return d.Round(time.Millisecond / 10).String()
}

func newRequestsShow(env *environment) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use: "show ID", Short: "Show a request of any account, also a refused one",
		Long: "Show the request with the id in X-Request-Id, in an error, or on a page: its attempts, or the\n" +
			"reason of its refusal.",
		Example: "  weir requests show 0198c2f0-7a54-7c31-9b1e-0242ac120002", Args: oneArg("the id of a request"),
		RunE: func(cmd *cobra.Command, args []string) error {
			request, _, _ := strings.Cut(args[0], ".")
			id, err := uuid.Parse(request)
			if err != nil {
				return usageError{fmt.Errorf("%q is not the id of a request: use the one in X-Request-Id", args[0])}
			}
			return env.withData(cmd, func(d *admin.Admin) error {
				found, there, err := d.Ledger.Request(cmd.Context(), id)
				if err != nil {
					return err
				}
				if there {
					return env.printRequest(&found)
				}
				refused, there, err := d.Refusals.Find(cmd.Context(), id)
				if err == nil && !there {
					err = errors.New("there is no such request, it was deleted because of its age, or it was refused " +
						"and is not among the latest of its account")
				}
				if err != nil {
					return err
				}
				return env.printRefused(&refused)
			})
		},
	})
}

func (o *output) printRefused(x *admin.RefusedRequest) error {
	if o.asJSON {
		return printJSON(o.stdout, x)
	}
	return printTable(o.stdout, []string{"REFUSED", x.ID}, [][]string{
		{"time", x.Arrived.Format(time.RFC3339)},
		{"account", orNone(x.AccountName)},
		{"key", orNone(x.KeyID)},
		{"model", orNone(x.Model)},
		{"reason", string(x.Reason)},
		{"status", strconv.Itoa(x.Status)},
		{"message", x.Message},
	})
}

func (o *output) printRequest(d *report.RequestDetail) error {
	if o.asJSON {
		return printJSON(o.stdout, api.ViewRequestDetail(d))
	}
	facts := [][]string{
		{"time", d.Arrived.Format(time.RFC3339)},
		{"account", d.Parts[0].Account},
		{"key", d.Key},
		{"requested", orNone(d.Requested)},
		{"end user", orNone(d.User)},
		{"tags", orNone(llm.FormatTags(d.Tags))},
		{"tokens", count(d.Usage.TotalTokens())},
		{"cost", requestCost(&d.Request)},
		{"took", tookText(d.Duration)},
	}
	for i := range d.Parts {
		if m := &d.Parts[i].Missed; m.Tokens > 0 {
			text := fmt.Sprintf("%s tokens, $%s, by %s", count(m.Tokens), m.Cost, m.Cause)
			facts = append(facts, []string{"missed in cache", text})
		}
	}
	if err := printTable(o.stdout, []string{"REQUEST", d.ID.String()}, facts); err != nil {
		return err
	}
	heads := []string{"ATTEMPT", "MODEL", "OUTCOME", "CODE", "STATUS", "BEGUN", "TOOK", "REPLY ID"}
	return printTable(o.stdout, heads, rowsOf(d.Parts, func(a *report.Attempt) []string {
		return []string{
			count(int64(a.ID.N)), a.FullModel(), string(a.Outcome), orNone(string(a.Code)), strconv.Itoa(a.Status),
			tookText(a.Opened.Sub(a.Arrived)), tookText(a.Duration), orNone(a.ReplyID),
		}
	}))
}
