package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/report"
)

// accountsList holds the parameters of the list of accounts.
type accountsList struct {
	sought, sort, month string
	number              int64 // of the month
	isCurrent           bool  // the month is running
	now                 time.Time
}

func accountsListOf(q url.Values, now time.Time) (l accountsList, err error) {
	current := now.UTC().Format(monthLayout)
	l = accountsList{
		sought: strings.TrimSpace(q.Get("q")), sort: q.Get("sort"), month: cmp.Or(q.Get("month"), current), now: now,
	}
	l.isCurrent = l.month == current
	if l.number, err = monthNumber(l.month); err != nil || l.month > current {
		return l, llm.Invalidf("month", "month is %.20q. Use a month such as %q, not a future one.", l.month, current)
	}
	if l.sort != "" && !slices.ContainsFunc(accountColumns(), func(h tableHead) bool { return h.Href == l.sort }) {
		return l, llm.Invalidf("sort", "sort is %.20q. Use a head of the table.", l.sort)
	}
	return l, nil
}

// accountColumns returns the heads of the list; Href is the name of the order.
func accountColumns() []tableHead {
	return []tableHead{
		{Label: "Name", Href: "name"},
		{Label: "State"},
		{Label: "Spend", Href: "spend", Number: true},
		{Label: "Requests", Href: "requests", Number: true},
		{Label: "Failed", Href: "failed", Number: true},
		{Label: "Budget"},
		{Label: "Last used", Href: "used"},
	}
}

// heads returns the heads with links that sort by them.
func (l *accountsList) heads() []tableHead {
	heads := accountColumns()
	for i := range heads {
		x := &heads[i]
		if x.Href == "" {
			continue
		}
		if x.Href == cmp.Or(l.sort, "spend") {
			x.Order = "descending"
			if x.Href == "name" {
				x.Order = "ascending"
			}
		}
		q := url.Values{"sort": {x.Href}, "month": {l.month}}
		if l.sought != "" {
			q.Set("q", l.sought)
		}
		x.Href = accountsPath + "?" + q.Encode()
	}
	return heads
}

// compare orders accounts by the chosen column; equal ones stay as they are.
func (l *accountsList) compare(a, b *report.AccountSum, names map[string]string) int {
	switch l.sort {
	case "name":
		return strings.Compare(names[a.Account], names[b.Account])
	case "requests":
		return cmp.Compare(b.Requests, a.Requests)
	case "failed":
		return cmp.Compare(b.Errors, a.Errors)
	case "used":
		return b.Used.Compare(a.Used)
	}
	return 0
}

// filters returns the search with the month.
func (l *accountsList) filters() Filters {
	f := searchOf(accountsPath, "Search accounts", "Name or id", l.sought)
	f.Fields = append(f.Fields, monthFilter("", l.month, recentMonths(l.now)).Fields...)
	if l.sort != "" {
		f.Hidden = []Choice{{Label: "sort", Value: l.sort}}
	}
	if !l.isCurrent {
		f.Reset = accountsPath
	}
	return f
}

// find opens the account with the sought name, or with the only one that contains it, or else lists what is found.
func (h *accountHandlers) find(w http.ResponseWriter, r *http.Request, _ *people.Visit) error {
	sought := strings.TrimSpace(r.URL.Query().Get("q"))
	all, err := h.admin.Accounts.Accounts(r.Context())
	if err != nil {
		return err
	}
	var found []string
	for i := range all {
		if all[i].Name == sought {
			return goTo(w, r, accountPath(sought))
		}
		if sought != "" && matches(sought, all[i].Name, all[i].ID) {
			found = append(found, all[i].Name)
		}
	}
	if len(found) == 1 {
		return goTo(w, r, accountPath(found[0]))
	}
	return goTo(w, r, accountsPath+"?"+url.Values{"q": {sought}}.Encode())
}
