package admin_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/reconcile"
	"weir/internal/simulator"
	"weir/internal/webhook"
)

// TestReconcileFindsEachDifference has a provider report its true usage, and differences of every kind, and checks that
// each of them, and nothing else, is found and named.
func TestReconcileFindsEachDifference(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"openai", "anthropic", "openrouter"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			testReconcileFindsEachDifference(t, dialect)
		})
	}
}

func testReconcileFindsEachDifference(t *testing.T, vendor string) {
	name, dialect := "house", vendor
	if vendor == "openrouter" { // which is one by its name
		name, dialect = vendor, "openai"
	}
	up := harness.NewUpstream(t)
	yaml := fmt.Sprintf("providers:\n  NAME: {dialect: %s, base_url: %q, allow_private: true, api_keys: [k]}\n", dialect, up.URL+"/v1") +
		"prices:\n  NAME/*: {input: \"1\", output: \"2\"}\n  NAME/chat:tokens=40,prompt=900000: {input: \"3\", output: \"2\"}\n"
	yesterday := time.Now().AddDate(0, 0, -1)
	h := harness.Open(t, harness.Setup{YAML: strings.ReplaceAll(yaml, "NAME", name)})
	want := map[string]reconcile.Finding{}
	ask := func(model string, f reconcile.Finding) {
		t.Helper()
		if r := h.Chat(name + "/" + model); r.Status != http.StatusOK {
			t.Fatalf("%s: got %d %s", model, r.Status, r.Body)
		}
		want[model] = f
	}
	ask("chat:tokens=20", reconcile.Rounded)
	ask("chat:tokens=20,prompt=904000", reconcile.Rounded)
	ask("chat:tokens=20,prompt=1000000", reconcile.Rounded)
	ask("chat:tokens=40,prompt=900000", reconcile.Priced)
	ask("chat:tokens=21,usage=over", reconcile.Less)
	ask("chat:tokens=22,prompt=5000", reconcile.More)
	if vendor == "openai" { // where it is a detail
		ask("chat:tokens=23,prompt=5000,cached=4000,usage=nodetails", reconcile.Cached)
	}
	elsewhere(t, up.URL, dialect, "chat:tokens=22,prompt=5000")
	elsewhere(t, up.URL, dialect, "chat:tokens=24")
	want["chat:tokens=24"] = reconcile.More
	h.SetOnDisconnect(account.DisconnectCancel)
	const cut = "chat:tokens=900,pace=10ms,reasoning=100"
	leaving := fmt.Sprintf(`{"model":%q,"stream":true,"max_tokens":5000,"messages":[{"role":"user","content":"Hi"}]}`, name+"/"+cut)
	h.Leave(harness.Ask{Path: "/v1/chat/completions", Body: leaving}, up, 3)
	want[cut] = reconcile.Unseen
	resolve := false
	run := func(key string) (r reconcile.Result, err error) {
		withPeople(h, func(ctx context.Context, d *admin.Admin) error {
			r, err = d.Reconciliation.Compare(ctx, admin.ReconcileOptions{
				Provider: name, Resolve: resolve, AdminKey: llm.NewSecret(key), From: yesterday.UTC().Truncate(24 * time.Hour), To: time.Now().UTC().Truncate(24 * time.Hour),
			})
			return nil
		})
		return r, err
	}
	var got map[string]reconcile.Finding
	harness.Await(t, "all rows", func() bool {
		got = map[string]reconcile.Finding{}
		for _, row := range must.Get(run("admin"))(t).Rows {
			got[row.Model] = row.Finding
		}
		return got[cut] == reconcile.Unseen && len(got) == len(want)
	})
	must.Equal(t, got, want, "findings")
	// The provider's report decides the usage of the one cut attempt, if it includes cached tokens.
	resolve = true
	decided := must.Get(run("admin"))(t)
	resolve = false
	if vendor == "openrouter" {
		must.Equal(t, decided.Resolved, 0, "attempts that were resolved")
		return
	}
	must.Equal(t, decided.Resolved, 1, "attempts that were resolved")
	for _, row := range must.Get(run("admin"))(t).Rows {
		if row.Model == cut && (row.Finding != reconcile.Agrees && row.Finding != reconcile.Rounded || row.Ours.Uncertain != 0 || row.Ours.Usage != row.Theirs) {
			t.Errorf("the resolved attempt: got %+v, want it to agree", row)
		}
	}
	h.Verify(t)
}

// elsewhere sends a request to the provider without the gateway.
func elsewhere(t *testing.T, url, dialect, model string) {
	t.Helper()
	path := map[string]string{"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}[dialect]
	body := fmt.Sprintf(`{"model":%q,"max_tokens":100,"messages":[{"role":"user","content":"Hi"}]}`, model)
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, url+path, strings.NewReader(body)))(t)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Anthropic-Version", "2023-06-01")
	answer := must.Get(http.DefaultClient.Do(r))(t)
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("past the gateway: got %d", answer.StatusCode)
	}
}

// TestDriftIsReportedOnce has a gateway compare finished days by itself, and report each unexplained one to the
// installation once: the last one, and one without a running gateway. A request that the provider counts on the day
// after is explained.
func TestDriftIsReportedOnce(t *testing.T) {
	t.Parallel()
	for name, days := range map[string]int{"the last day": 0, "six days before": 6} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testDriftIsReportedOnce(t, days)
		})
	}
}

func testDriftIsReportedOnce(t *testing.T, back int) {
	began := time.Now()
	day := began.Add(-32*time.Hour).UTC().AddDate(0, 0, -1-back).Truncate(24 * time.Hour)
	then := func() time.Time { return day.Add(12*time.Hour + time.Since(began)) }
	var days atomic.Int64 // that the provider's clock is ahead
	days.Store(-1)
	s := simulator.New(simulator.Options{Dialects: registrytest.All(), Seed: 1, Clock: func() time.Time {
		return then().AddDate(0, 0, int(days.Load()))
	}})
	up := httptest.NewServer(s)
	t.Cleanup(func() { s.Close(); up.Close() })
	yaml := fmt.Sprintf("providers:\n  house: {dialect: openai, base_url: %q, allow_private: true, api_keys: [k], admin_key: the-admin-key}\n", up.URL+"/v1") +
		"prices:\n  house/*: {input: \"1\", output: \"2\"}\n"
	elsewhere(t, up.URL, "openai", "chat:tokens=20") // before the first gateway, which is not reported
	days.Store(0)
	first := harness.Open(t, harness.Setup{YAML: yaml, Now: then})
	for _, model := range []string{"chat:tokens=20", "chat:tokens=22,prompt=5000"} {
		if r := first.Chat("house/" + model); r.Status != http.StatusOK {
			t.Fatalf("%s: got %d %s", model, r.Status, r.Body)
		}
	}
	elsewhere(t, up.URL, "openai", "chat:tokens=22,prompt=5000")
	days.Store(1)
	if r := first.Chat("house/chat:tokens=25"); r.Status != http.StatusOK {
		t.Fatalf("at midnight: got %d %s", r.Status, r.Body)
	}
	must.Do(t, first.Stop())
	x := hook(first, t, "")
	second := harness.Open(t, harness.Setup{YAML: yaml, Dir: first.Data, Key: first.Key})
	e := x.one(webhook.UsageDrift)
	d := e.Data.Drift
	if d == nil || d.Provider != "house" || d.Date != day.Format(time.DateOnly) || d.Rows != 1 || len(d.Models) != 1 ||
		d.Models[0].Model != "chat:tokens=22,prompt=5000" || d.Models[0].Finding != string(reconcile.More) {
		t.Errorf("the event: got %+v", d)
	}
	must.Do(t, second.Stop())
	third := harness.Open(t, harness.Setup{YAML: yaml, Dir: first.Data, Key: first.Key})
	harness.Await(t, "the comparison", func() bool { return strings.Contains(third.Log.String(), "differs from the ledger") })
	must.Do(t, third.Stop())
	if n := len(x.of(webhook.UsageDrift)); n != 1 {
		t.Errorf("after another start: got %d events, want one", n)
	}
	neverShown(first, "the-admin-key")
}
