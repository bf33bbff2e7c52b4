package dashboard

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"weir/internal/admin"
	"weir/internal/alert"
	"weir/internal/people"
)

// alertHandlers serves the pages of alerts, of the installation and of an account.
type alertHandlers struct {
	site  *site
	admin *admin.Admin
}

const alertsPath = "/operator/alerts"

// alertsPage shows the kinds of alerts, and those that fired last.
type alertsPage struct {
	Account   bool // of an account, not of the installation
	Kinds     []alertKindRow
	Alerts    []alertRow
	Endpoints string // path of the endpoints
	Empty     Empty
	Problems  []Problem
}

// alertKindRow shows a kind of alert.
type alertKindRow struct {
	admin.AlertKind
	Name, Bound string
	Test        string // path of the button; empty for none
}

// alertRow shows an alert.
type alertRow struct {
	admin.AlertView
	Name  string
	Badge Badge
	Of    string // the account, and the key or model
	Href  string // page of the key or account; empty for none
}

func (h *alertHandlers) list(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	found, err := h.admin.Alerts.List(r.Context())
	if err != nil {
		return err
	}
	p := alertsPageOf(&found, webhooksPath, nil)
	for i := range p.Kinds {
		p.Kinds[i].Test = alertsPath + "/" + string(p.Kinds[i].Kind) + "/test"
	}
	p.Problems = f.problems()
	return h.site.show(w, r, v, page{name: "alerts", title: "Alerts", status: f.status(), data: p})
}

// ofAccount shows the alerts of an account.
func (h *alertHandlers) ofAccount(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	found, err := h.admin.Alerts.ListOf(r.Context(), v.Account)
	if err != nil {
		return err
	}
	keys, err := h.admin.Accounts.Keys(r.Context(), v.Account.ID)
	if err != nil {
		return err
	}
	endpoints := ""
	if v.May(people.Manage, v.Account.ID) == nil {
		endpoints = hookHomeOf(v).path
	}
	p := alertsPageOf(&found, endpoints, labelsOf(keys))
	p.Account = true
	return h.site.show(w, r, v, page{name: "alerts", title: "Alerts", data: p})
}

// alertsPageOf shows alerts. labels holds the labels of keys by id; a key without one is named by its account.
func alertsPageOf(found *admin.AlertReport, endpoints string, labels map[string]string) alertsPage {
	p := alertsPage{Endpoints: endpoints, Empty: Empty{
		Icon: "alerts", Title: "No alerts", Text: "Nothing has needed attention in the last 90 days.",
	}}
	for i := range found.Kinds {
		k := &found.Kinds[i]
		row := alertKindRow{AlertKind: *k, Name: alertName(k.Kind), Bound: "off"}
		if k.Limit > 0 {
			row.Bound = "from " + number(k.Limit) + " " + k.Unit
			if k.Limit == 1 {
				row.Bound = strings.TrimSuffix(row.Bound, "s")
			}
		}
		p.Kinds = append(p.Kinds, row)
	}
	for i := range found.Alerts {
		a := &found.Alerts[i]
		row := alertRow{AlertView: *a, Name: alertName(a.Kind), Badge: Badge{"bad", "Active"}}
		if a.Ended != nil {
			row.Badge = Badge{"", "Ended"}
		}
		row.Of, row.Href = alertOf(a, labels)
		p.Alerts = append(p.Alerts, row)
	}
	return p
}

// alertOf returns what an alert is about, and the path of its page, if there is one.
func alertOf(a *admin.AlertView, labels map[string]string) (of, href string) {
	switch {
	case a.AccountName != "" && a.Subject != "":
		return cmp.Or(labels[a.Subject], "a key of "+a.AccountName), accountPath(a.AccountName) + "/keys/" + a.Subject
	case a.AccountName != "":
		return a.AccountName, accountPath(a.AccountName)
	}
	return cmp.Or(a.Subject, "the installation"), ""
}

// alertName returns the name of a kind for people.
func alertName(k alert.Kind) string {
	switch k {
	case alert.BudgetForecast:
		return "Budget forecast"
	case alert.SpendJump:
		return "Jump of spending"
	case alert.ErrorRate:
		return "Error rate"
	case alert.KeyRefusals:
		return "Refusals of a key"
	case alert.UnpricedUsage:
		return "Usage without a price"
	case alert.PricesOld:
		return "Old prices"
	}
	return string(k)
}

// test sends a test of the kind in the path.
func (h *alertHandlers) test(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	_, err := h.admin.Alerts.Test(r.Context(), r.PathValue("kind"))
	return (&form{}).followed(w, r, v, alertsPath+"?done=alert-tested", err, h.list)
}

// alertNotice reports the active alerts of an account on other pages.
type alertNotice struct {
	Count int
	Text  string // of the latest one
	Href  string // empty without alerts
}

func alertNoticeOf(ctx context.Context, a *admin.Admin, v *people.Visit) (n alertNotice, err error) {
	active, err := a.Alerts.Active(ctx, v.Account)
	if err != nil || len(active) == 0 {
		return n, err
	}
	text := alertName(active[0].Kind) + ": " + active[0].Text
	return alertNotice{len(active), text, accountPath(v.Account.Name) + "/alerts"}, nil
}
