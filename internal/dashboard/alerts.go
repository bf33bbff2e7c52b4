package dashboard

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
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
	Limits    []Field // that the visitor may set; empty for none
	Set       string  // path of the form
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
	p := alertsPageOf(&found, webhooksPath, false)
	for i := range p.Kinds {
		p.Kinds[i].Test = alertsPath + "/" + string(p.Kinds[i].Kind) + "/test"
	}
	p.Problems = f.problems()
	return h.site.show(w, r, v, page{name: "alerts", title: "Alerts", status: f.status(), data: p})
}

// ofAccount shows the alerts of an account.
func (h *alertHandlers) ofAccount(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	found, err := h.admin.Alerts.ListOf(r.Context(), v.Account)
	if err != nil {
		return err
	}
	p := alertsPageOf(&found, "", true)
	if v.May(people.Manage, v.Account.ID) == nil {
		p.Endpoints, p.Set = hookHomeOf(v).path, accountPath(v.Account.Name)+"/alerts/set"
		p.Limits = alertFields(f, found.Kinds)
	}
	p.Problems = f.problems()
	return h.site.show(w, r, v, page{name: "alerts", title: "Alerts", status: f.status(), data: p})
}

// alertFields returns a field for the limit of each kind.
func alertFields(f *form, kinds []admin.AlertKind) (fields []Field) {
	for i := range kinds {
		k := &kinds[i]
		x := Field{
			Name: string(k.Kind), Label: alertName(k.Kind), Hint: alertUnit(k.Kind), Mode: "numeric", Short: true,
			Max: 7, Example: "off",
		}
		if k.Default > 0 {
			x.Example = strconv.FormatInt(k.Default, 10)
		}
		if k.Own {
			x.Value = strconv.FormatInt(k.Limit, 10)
		}
		fields = append(fields, f.field(x))
	}
	return fields
}

// alertUnit describes the limit that an account may set for a kind.
func alertUnit(k alert.Kind) string {
	switch k {
	case alert.BudgetForecast:
		return "% of the budget, forecast"
	case alert.SpendJump:
		return "% of the usual, from 100"
	case alert.ErrorRate:
		return "% of the attempts"
	case alert.KeyRefusals:
		return "refused in an hour"
	}
	return ""
}

// setLimits sets the limits of an account. An empty field returns to the limit of the installation.
func (h *alertHandlers) setLimits(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	f, changes := sent(r), alert.Changes{}
	for _, k := range alert.Kinds() {
		if !k.OfAccounts() {
			continue
		}
		changes[k] = nil
		text := strings.TrimSpace(r.PostFormValue(string(k)))
		if text == "" {
			continue
		}
		if text == "off" { // as the field shows it
			text = "0"
		}
		limit, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			f.mistake(string(k), "The limit of the alert "+alertName(k)+" is not a whole number. Enter one such as "+
				"20, or 0 to switch it off.")
		}
		changes[k] = &limit
	}
	if f.bad() {
		return h.ofAccount(w, r, v, f)
	}
	_, err := h.admin.Alerts.SetLimits(r.Context(), v.By, v.Account, changes)
	return f.followed(w, r, v, accountPath(v.Account.Name)+"/alerts?done=alerts-set", err, h.ofAccount)
}

// alertsPageOf shows alerts, of an account or of the installation.
func alertsPageOf(found *admin.AlertReport, endpoints string, ofAccount bool) alertsPage {
	p := alertsPage{Account: ofAccount, Endpoints: endpoints, Empty: Empty{
		Icon: "alerts", Title: "No alerts", Text: "Nothing has needed attention in the last 90 days.",
	}}
	for i := range found.Kinds {
		k := &found.Kinds[i]
		p.Kinds = append(p.Kinds, alertKindRow{AlertKind: *k, Name: alertName(k.Kind), Bound: alertBound(k)})
	}
	for i := range found.Alerts {
		a := &found.Alerts[i]
		row := alertRow{AlertView: *a, Name: alertName(a.Kind), Badge: Badge{"bad", "Active"}}
		if a.Ended != nil {
			row.Badge = Badge{"", "Ended"}
		}
		row.Of, row.Href = alertOf(a, ofAccount)
		p.Alerts = append(p.Alerts, row)
	}
	return p
}

// alertBound returns the limit of a kind in words.
func alertBound(k *admin.AlertKind) string {
	of := map[alert.Kind]string{
		alert.BudgetForecast: "of the budget", alert.SpendJump: "of the usual", alert.ErrorRate: "of attempts",
		alert.KeyRefusals: "an hour",
	}[k.Kind]
	if k.Limit == 0 {
		return "Off"
	}
	unit := k.Unit
	if k.Limit == 1 {
		unit = strings.TrimSuffix(unit, "s")
	}
	return strings.TrimSpace("from " + number(k.Limit) + " " + unit + " " + of)
}

// alertOf returns what an alert is about, and the path of its page, if there is one.
func alertOf(a *admin.AlertView, ofAccount bool) (of, href string) {
	switch {
	case a.AccountName != "" && a.Subject != "":
		if of = cmp.Or(a.KeyLabel, "a key"); !ofAccount {
			of += " of " + a.AccountName
		}
		return of, accountPath(a.AccountName) + "/keys/" + a.Subject
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
	if label := active[0].KeyLabel; label != "" {
		text = label + ". " + text
	}
	return alertNotice{len(active), text, accountPath(v.Account.Name) + "/alerts"}, nil
}
