package dashboard

import (
	"net/http"
	"strings"

	"weir/internal/admin"
	"weir/internal/alert"
	"weir/internal/people"
)

// alertHandlers serves the page of alerts.
type alertHandlers struct {
	site   *site
	alerts *admin.Alerts
}

const alertsPath = "/operator/alerts"

// alertsPage shows the kinds of alerts, and those that fired last.
type alertsPage struct {
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
	Test        string // path of the button
}

// alertRow shows an alert.
type alertRow struct {
	admin.AlertView
	Name  string
	Badge Badge
	Of    string // the account, and the key or model
}

func (h *alertHandlers) list(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	found, err := h.alerts.List(r.Context())
	if err != nil {
		return err
	}
	p := alertsPageOf(&found)
	p.Problems = f.problems()
	return h.site.show(w, r, v, page{name: "alerts", title: "Alerts", status: f.status(), data: p})
}

func alertsPageOf(found *admin.AlertReport) alertsPage {
	p := alertsPage{Endpoints: webhooksPath, Empty: Empty{
		Icon: "alerts", Title: "No alerts", Text: "Nothing has needed attention in the last 90 days.",
	}}
	for i := range found.Kinds {
		k := &found.Kinds[i]
		row := alertKindRow{*k, alertName(k.Kind), "off", alertsPath + "/" + string(k.Kind) + "/test"}
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
		row := alertRow{*a, alertName(a.Kind), Badge{"bad", "Active"}, "the installation"}
		if a.Ended != nil {
			row.Badge = Badge{"", "Ended"}
		}
		switch {
		case a.AccountName != "" && a.Subject != "":
			row.Of = "a key of " + a.AccountName
		case a.AccountName != "":
			row.Of = a.AccountName
		case a.Subject != "":
			row.Of = a.Subject
		}
		p.Alerts = append(p.Alerts, row)
	}
	return p
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
	_, err := h.alerts.Test(r.Context(), r.PathValue("kind"))
	return (&form{}).followed(w, r, v, alertsPath+"?done=alert-tested", err, h.list)
}
