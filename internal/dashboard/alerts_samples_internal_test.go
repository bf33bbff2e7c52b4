package dashboard

import (
	"time"

	"weir/internal/admin"
	"weir/internal/alert"
	"weir/internal/people"
)

// alertSamples shows the page of alerts: without any, and with active and ended ones.
func alertSamples() []sample {
	quiet := admin.AlertReport{}
	for _, k := range alert.Kinds() {
		quiet.Kinds = append(quiet.Kinds, admin.AlertKind{Kind: k, About: k.About(), Unit: k.Unit()})
	}
	busy := admin.AlertReport{}
	for i, k := range alert.Kinds() {
		fired := testTime.Add(-time.Duration(i) * time.Hour)
		busy.Kinds = append(busy.Kinds, admin.AlertKind{Kind: k, About: k.About(), Unit: k.Unit(), Limit: 100, Default: 100, Own: i%2 == 0, LastFired: &fired})
		a := admin.AlertView{
			ID: "019aa39e-51f1-7b3c-9d40-6a2f0c1e8b78", Kind: k, Value: 412, Limit: 300, Unit: k.Unit(), Fired: fired,
			Text: "$41.20 was spent in the last full hour, and at most $10 in the same hour of the seven days before." + hostile,
		}
		if i%2 == 0 {
			a.Ended = &testTime
		}
		if i < 4 {
			a.AccountName = "acme"
		}
		if k == alert.KeyRefusals || k == alert.UnpricedUsage {
			a.Subject, a.KeyLabel = "house/"+hostile, "ci"+hostile
		}
		busy.Alerts = append(busy.Alerts, a)
	}
	show := func(found *admin.AlertReport) page {
		return page{name: "alerts", title: "Alerts", data: alertsPageOf(found, webhooksPath, false)}
	}
	own := alertsPageOf(&busy, accountPath("acme")+"/webhooks", true)
	own.Set = accountPath("acme") + "/alerts/set"
	own.Limits = alertFields(&form{wrong: map[string]string{"error_rate": "The limit is wrong." + hostile}}, busy.Kinds[:4])
	return []sample{
		{"alerts", alertsPath, "", show(&busy)},
		{"alerts-none", alertsPath, "", show(&quiet)},
		{"alerts-account", accountPath("acme") + "/alerts", people.Owner, page{name: "alerts", title: "Alerts", data: own}},
	}
}
