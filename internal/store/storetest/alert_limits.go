package storetest

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/alert"
	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/store"
	"weir/internal/webhook"
)

// testAlertLimits checks that the limits of an account replace those of the installation for the account alone: the
// alerts, their events and the facts. The changes are in the audit log, and a closed account has no limits.
func testAlertLimits(t *testing.T, f *fixture) {
	create(t, f, "a", "b")
	endpoint(t, f, "w1", "acc_a")
	endpoint(t, f, "w2", "")
	r := f.recorder(f.DB)
	for _, of := range []string{"a", "b"} {
		for range 3 {
			r.Add(refused(noon, "acc_"+of, "key_"+of, "m", llm.CodeRateLimited))
		}
	}
	must.Do(t, r.Flush(t.Context()))
	now := noon.Add(time.Minute)
	rules := &alert.Rules{Refusals: 100}
	evaluate := func() (fired []alert.Alert) {
		facts := must.Get(f.Alerts.Facts(t.Context(), rules, now))(t)
		fired, _, err := f.Alerts.Write(t.Context(), rules.AllConditions(&facts, now), now)
		must.Do(t, err)
		return fired
	}
	must.Equal(t, len(evaluate()), 0, "alerts by the limit of the installation")
	set := func(c alert.Changes) alert.Limits {
		return must.Get(f.Alerts.SetLimits(t.Context(), ann(), "acc_a", c))(t)
	}
	set(alert.Changes{alert.KeyRefusals: new(int64(2)), alert.ErrorRate: new(int64(0))})
	fired := evaluate()
	if len(fired) != 1 || fired[0].Account != "acc_a" || !fired[0].Own || fired[0].Limit != 2 {
		t.Fatalf("got %+v, want an alert of the account by its own limit", fired)
	}
	must.Equal(t, typesOf(t, f, "w1"), []webhook.Type{webhook.AlertFired}, "events of the account")
	must.Equal(t, len(typesOf(t, f, "w2")), 0, "events of the installation")
	must.Equal(t, len(must.Get(f.Alerts.Latest(t.Context(), store.AlertQuery{}))(t)), 0, "alerts of the installation")
	rules.Refusals = 3 // the installation's alerts do not depend on limits of accounts
	set(alert.Changes{alert.KeyRefusals: new(int64(0))})
	got := map[alert.Source]bool{}
	for _, a := range evaluate() {
		got[a.Source] = true
	}
	of := func(account string, own bool) alert.Source {
		return alert.Source{Kind: alert.KeyRefusals, Account: "acc_" + account, Subject: "key_" + account, Own: own}
	}
	must.Equal(t, got, map[alert.Source]bool{of("a", false): true, of("b", false): true, of("b", true): true},
		"alerts with the kind switched off by the account")
	left := set(alert.Changes{alert.KeyRefusals: nil})
	must.Equal(t, left, alert.Limits{alert.ErrorRate: 0}, "limits after one was returned")
	log := logged(t, f, audit.Query{Action: audit.AccountChanged, Limit: 10})
	must.Equal(t, string(log[0].Before)+string(log[2].After),
		`{"alerts.key_refusals":0}{"alerts.error_rate":0,"alerts.key_refusals":2}`, "audit log")
	must.Get(f.Accounts.CloseAccount(t.Context(), ann(), "acc_a", f.clock()))(t)
	must.Equal(t, len(must.Get(f.Alerts.Limits(t.Context(), "acc_a"))(t)), 0, "limits of a closed account")
	if _, err := f.Alerts.SetLimits(t.Context(), ann(), "acc_a", alert.Changes{}); err == nil || errors.Is(err, account.ErrNotFound) {
		t.Errorf("limits of a closed account: got %v, want an error that names its state", err)
	}
}

// testAlertsRecovered checks that an endpoint receives only its own missed alerts again.
func testAlertsRecovered(t *testing.T, f *fixture) {
	create(t, f, "a")
	for id, owner := range map[string]string{"w1": "acc_a", "w2": ""} {
		endpoint(t, f, id, owner, webhook.AlertFired)
		able(t, f, id, false)
	}
	of := alert.Condition{Source: alert.Source{Kind: alert.SpendJump, Account: "acc_a"}, Value: 400, Limit: 300, Text: "Theirs."}
	own := of
	own.Own, own.Text = true, "Own."
	_, _, err := f.Alerts.Write(t.Context(), []alert.Condition{of, own}, noon.Add(time.Hour))
	must.Do(t, err)
	for id, want := range map[string]string{"w1": "Own. a", "w2": "Theirs. a"} {
		able(t, f, id, true)
		recovers(t, f, id, noon, 1)
		var e struct{ Data webhook.Data }
		must.Do(t, json.Unmarshal(take(t, f, id, 1)[0].Payload, &e))
		must.Equal(t, e.Data.Alert.Text+" "+e.Data.Account.Name, want, "recovered alert of %s", id)
	}
}
