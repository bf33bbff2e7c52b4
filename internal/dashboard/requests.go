package dashboard

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"time"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/report"
)

// requestHandlers serves the pages of requests.
type requestHandlers struct {
	site  *site
	admin *admin.Admin
	flush func(context.Context)
	tails *tails
}

// requestsPage lists the requests of an account.
type requestsPage struct {
	Filters  Filters
	Problems []Problem
	Rows     []requestRow
	Tail     string // path of the live tail; empty on pages without new requests
	Pager    Pager
	Filtered bool
	Refused  *refusedView // nil unless the page lists refused requests
	Empty    Empty
}

// requestRow shows a request in the list.
type requestRow struct {
	ID, Href  string
	Arrived   time.Time
	Model     string // that answered, or was tried last
	Requested string // requested name, if it differs
	Key       string
	Badge     Badge
	Open      bool // whether it is running; its tokens and cost are known at its end
	Attempts  int
	In, Out   int64
	Cost      llm.Money
	AtMost    llm.Money  // 0 if Cost is exact
	Providers *llm.Money // cost reported by the providers; nil if they do not report it
	Purchase  *spending  // purchase cost; only for operators, of an account with a price list
	Unpriced  bool
	Doubt     string // reason why the numbers are not exact; empty for none
	First     string // time to first token
	Took      string
}

// requestsShown is the number of requests per page.
const requestsShown = 50

// requestQuery reads the filters of a list. It adds mistakes to the form.
func requestQuery(f *form, accountID string) report.RequestsQuery {
	q := report.RequestsQuery{
		Account: accountID, Key: f.values.Get("key"), Model: f.values.Get("model"),
		Limit: requestsShown,
	}
	if ended := f.values.Get("ended"); ended != endedRefused {
		q.Ended = report.Ended(ended)
	}
	q.From, q.To = dateText(f.bound("start_date")), dateText(f.bound("end_date"))
	if q.From != "" && q.To != "" && q.From > q.To {
		f.mistake("start_date", "The first day is after the last day. Choose an earlier first day.")
	}
	if len(q.Model) > maxModelName {
		f.mistake("model", "The model name is longer than 256 bytes. Enter a shorter one.")
	}
	if !q.Ended.Known() {
		f.mistake("ended", "The outcome is not in the list. Choose one from the list.")
	}
	after, err := report.ParseCursor(f.values.Get("after"))
	if err != nil {
		f.mistake("after", "This page of the list does not exist. Start with the newest page.")
	}
	q.After = after
	return q
}

func requestFields(f *form, keys []account.Key) []Field {
	choices := []Choice{{Value: "", Label: "All keys"}}
	for i := range keys {
		choices = append(choices, Choice{Value: keys[i].ID, Label: keys[i].Label + " …" + keys[i].Last4})
	}
	ended := []Choice{
		{Value: "", Label: "Any"},
		{Value: string(report.EndedOK), Label: "Answered"},
		{Value: string(report.EndedError), Label: "Not answered"},
		{Value: string(report.EndedUnseen), Label: "End not seen"},
		{Value: endedRefused, Label: "Refused"},
	}
	return []Field{
		f.field(Field{Name: "key", Label: "Key", Choices: choices}),
		f.field(Field{Name: "model", Label: "Model", Example: "provider/model", Max: maxModelName}),
		f.field(Field{Name: "ended", Label: "Outcome", Choices: ended}),
		f.field(Field{Name: "start_date", Label: "From", Kind: "date"}),
		f.field(Field{Name: "end_date", Label: "To", Kind: "date"}),
	}
}

func (h *requestHandlers) list(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	keys, err := h.admin.Accounts.Keys(r.Context(), v.Account.ID)
	if err != nil {
		return err
	}
	base := accountPath(v.Account.Name) + "/requests"
	f := &form{values: r.URL.Query()}
	q := requestQuery(f, v.Account.ID)
	p := requestsPage{Filters: Filters{Action: base, Label: "Requests to show", Fields: requestFields(
		f, shownKeys(keys, q.Key)), Reset: base}, Problems: f.problems()}
	if f.bad() {
		return h.site.show(w, r, v, page{name: "requests", title: "Requests", status: f.status(), data: p})
	}
	if f.values.Get("ended") == endedRefused {
		if p.Refused, err = h.refused(r.Context(), base, &q, labelsOf(keys)); err != nil {
			return err
		}
		return h.site.show(w, r, v, page{name: "requests", title: "Requests", data: p})
	}
	h.flush(r.Context())
	list, next, err := h.admin.Reports.Requests(r.Context(), q)
	if err != nil {
		return err
	}
	rows := requestRows(base, list, labelsOf(keys))
	for i := range rows {
		if x := &list[i]; v.Operator() && (x.Margin != (report.Margin{}) || x.PurchaseUnpriced != x.Unpriced) {
			rows[i].Purchase = &spending{Cost: x.Bought(), Unpriced: x.PurchaseUnpriced != 0}
		}
	}
	p.fill(base, &q, rows, next, today(h.site.now()))
	return h.site.show(w, r, v, page{name: "requests", title: "Requests", scripts: []string{"tail.js"}, data: p})
}

// mostKeys bounds the keys of a list to those created last, plus the chosen one in a list of choices.
const mostKeys = 100

func shownKeys(keys []account.Key, chosen string) (list []account.Key) {
	for i := range keys {
		if i >= len(keys)-mostKeys || keys[i].ID == chosen {
			list = append(list, keys[i])
		}
	}
	return list
}

func labelsOf(keys []account.Key) map[string]string {
	labels := map[string]string{}
	for i := range keys {
		labels[keys[i].ID] = keys[i].Label
	}
	return labels
}

func (p *requestsPage) fill(base string, q *report.RequestsQuery, rows []requestRow, next report.Cursor,
	now time.Time,
) {
	chosen := filtersOf(q)
	p.Rows, p.Filtered = rows, len(chosen) > 0
	if next != (report.Cursor{}) {
		older := filtersOf(q)
		older.Set("after", next.String())
		p.Pager.Older = withQuery(base, older)
	}
	if q.After != (report.Cursor{}) {
		p.Pager.Newest = withQuery(base, chosen)
	} else if q.To == "" || q.To >= now.Format(time.DateOnly) {
		p.Tail = withQuery(base+"/tail", chosen)
	}
	p.Empty = emptyRequests(base, p)
}

func emptyRequests(base string, p *requestsPage) Empty {
	switch {
	case p.Pager.Older != "":
		return Empty{
			Icon: "requests", Title: "No match so far",
			Text:   "None of the requests searched so far matches the filters. There are older requests to search.",
			Action: "Search older requests", Href: p.Pager.Older,
		}
	case p.Filtered || p.Pager.Newest != "":
		return Empty{
			Icon: "requests", Title: "No matching request",
			Text: "No request matches the filters. Enter the full name of a model, such as openai/gpt-5. Old " +
				"requests are deleted; their totals stay in the usage report.", Action: "All requests", Href: base,
		}
	}
	return Empty{
		Icon: "requests", Title: "No requests yet",
		Text: "Each new request appears here with its outcome, tokens and cost.",
	}
}

// filtersOf returns the parameters of the same filters.
func filtersOf(q *report.RequestsQuery) url.Values {
	values := url.Values{}
	for name, value := range map[string]string{
		"key": q.Key, "model": q.Model, "ended": string(q.Ended), "start_date": q.From, "end_date": q.To,
	} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return values
}

func withQuery(path string, q url.Values) string {
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

func requestRows(base string, list []report.Request, labels map[string]string) []requestRow {
	rows := make([]requestRow, len(list))
	for i := range list {
		rows[i] = requestRowOf(base, &list[i], labels)
	}
	return rows
}

func requestRowOf(base string, x *report.Request, labels map[string]string) requestRow {
	row := requestRow{
		ID: x.ID.String(), Href: base + "/" + x.ID.String(), Arrived: x.Arrived, Model: x.Model,
		Key: cmp.Or(labels[x.Key], "an unknown key"), Badge: outcomeBadge(x.Outcome),
		Open: x.Outcome == ledger.OutcomeOpen, Attempts: x.Attempts, In: x.Usage.InputTokens(),
		Out: x.Usage.OutputTokens(), Cost: x.Cost, AtMost: boundOf(x.Cost, x.AtMost-x.Cost), Providers: x.ProviderCost,
		Unpriced: x.Unpriced != 0, Doubt: doubtOf(x.Provenance), First: orNone(x.FirstToken), Took: orNone(x.Duration),
	}
	if x.Requested != x.Model {
		row.Requested = x.Requested
	}
	return row
}

// doubtOf describes why numbers are not the provider's own.
func doubtOf(p ledger.Provenance) string {
	switch p {
	case ledger.Assumed:
		return "assumed price"
	case ledger.Estimated:
		return "estimated"
	case ledger.Unknown:
		return "not exact"
	}
	return ""
}

// outcomeBadge shows how an attempt ended.
func outcomeBadge(o ledger.Outcome) Badge {
	switch o {
	case ledger.OutcomeOpen:
		return Badge{"", "Running"}
	case ledger.OutcomeOK:
		return Badge{"good", "Answered"}
	case ledger.OutcomeRefused:
		return Badge{"bad", "No connection"}
	case ledger.OutcomeRejected:
		return Badge{"bad", "Rejected"}
	case ledger.OutcomeFailed:
		return Badge{"bad", "Failed"}
	case ledger.OutcomeCut:
		return Badge{"bad", "Interrupted"}
	case ledger.OutcomeClientGone:
		return Badge{"off", "Client disconnected"}
	case ledger.OutcomeUnknown:
		return Badge{"warn", "Unknown"}
	}
	return Badge{"", string(o)}
}
