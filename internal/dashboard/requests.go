package dashboard

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

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
	// RefusedPath is the path of the refused requests; empty if the page lists them.
	RefusedPath string
	Empty       Empty
}

// requestRow shows a request in the list.
type requestRow struct {
	ID, Href  string
	Arrived   time.Time
	Model     string // that answered, or was tried last
	Requested string // requested name, if it differs
	Key       string
	User      string // end user
	Tags      string
	Badge     Badge
	Open      bool // whether it is running; its tokens and cost are known at its end
	Attempts  int
	Stored    bool // whether a stored answer was returned
	In, Out   int64
	Cost      llm.Money
	Places    int        // decimals of the costs of the list
	AtMost    llm.Money  // 0 if Cost is exact
	Providers *llm.Money // cost reported by the providers; nil if they do not report it
	Purchase  *spending  // purchase cost; only for operators, of an account with a price list
	Unpriced  bool
	Doubt     string // reason why the numbers are not exact; empty for none
	First     string // time to first token; empty for none
	Took      string
}

func (h *requestHandlers) list(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	keys, err := h.admin.Accounts.Keys(r.Context(), v.Account.ID)
	if err != nil {
		return err
	}
	base := accountPath(v.Account.Name) + "/requests"
	f := &form{values: r.URL.Query()}
	q := requestQuery(f, v.Account.ID)
	p := requestsPage{Filters: requestForm(f, shownKeys(keys, q.Key), base), Problems: f.problems()}
	if f.values.Get("ended") != endedRefused {
		p.RefusedPath = base + "?ended=" + endedRefused
	}
	if f.bad() {
		return h.site.show(w, r, v, page{name: "requests", title: "Requests", status: f.status(), data: p})
	}
	to, err := h.pathOf(r.Context(), base, &q)
	if err != nil {
		return err
	}
	if to != "" {
		return goTo(w, r, to)
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
	p.fill(base, filtersOf(f), &q, rows, next, today(h.site.now()))
	return h.site.show(w, r, v, page{name: "requests", title: "Requests", scripts: []string{"tail.js"}, data: p})
}

// pathOf returns the path of the page of the request that a query selects by its id; empty if the account has none.
func (h *requestHandlers) pathOf(ctx context.Context, base string, q *report.RequestsQuery) (string, error) {
	if q.ID == uuid.Nil {
		return "", nil
	}
	h.flush(ctx)
	_, there, err := h.admin.Reports.Request(ctx, q.Account, q.ID)
	if err != nil {
		return "", err
	}
	if !there {
		var x admin.RefusedRequest
		x, there, err = h.admin.Refusals.Find(ctx, q.ID)
		there = there && x.AccountID == q.Account
	}
	if err != nil || !there {
		return "", err
	}
	return base + "/" + q.ID.String(), nil
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

func (p *requestsPage) fill(base string, chosen url.Values, q *report.RequestsQuery, rows []requestRow,
	next report.Cursor, now time.Time,
) {
	p.Rows, p.Filtered = rows, len(chosen) > 0
	if next != (report.Cursor{}) {
		older := maps.Clone(chosen)
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
	places := placesOf(rows, func(r *requestRow) llm.Money { return r.Cost })
	for i := range rows {
		rows[i].Places = places
	}
	return rows
}

func requestRowOf(base string, x *report.Request, labels map[string]string) requestRow {
	row := requestRow{
		ID: x.ID.String(), Href: base + "/" + x.ID.String(), Arrived: x.Arrived, Model: x.Model,
		Key: cmp.Or(labels[x.Key], "an unknown key"), Badge: outcomeBadge(x.Outcome),
		User: x.User, Tags: tagsText(x.Tags), Open: x.Outcome == ledger.OutcomeOpen, Attempts: x.Attempts,
		Stored: x.Cached.Hit, In: x.Usage.InputTokens(), Out: x.Usage.OutputTokens(),
		Cost: x.Cost, AtMost: boundOf(x.Cost, x.AtMost-x.Cost), Providers: x.ProviderCost,
		Unpriced: x.Unpriced != 0, Doubt: doubtOf(x.Provenance), Took: orNone(x.Duration),
	}
	if x.FirstToken > 0 {
		row.First = took(x.FirstToken)
	}
	if x.Requested != x.Model {
		row.Requested = x.Requested
	}
	return row
}

// tagsText formats tags for people.
func tagsText(tags []llm.Tag) string { return strings.ReplaceAll(llm.FormatTags(tags), ",", ", ") }

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
