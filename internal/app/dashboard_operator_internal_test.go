package app

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/config"
	"weir/internal/dashboard"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/upstream"
)

// TestInstallationAnswersOperatorPages calls all functions of a gateway that the operators' pages use.
func TestInstallationAnswersOperatorPages(t *testing.T) {
	t.Parallel()
	g := newInstance(t)
	ctx, started := t.Context(), time.Now()
	i := installationOf(g, started)
	if all := i.Providers(); len(all) != 1 || all[0].Name != upstream.DemoName || len(all[0].Credentials) != 0 {
		t.Errorf("providers: got %+v, want the demo, which needs no key", all)
	}
	listed := i.Models()
	for name, known := range map[string]bool{upstream.DemoName + "/" + upstream.DemoModel: true, upstream.DemoName + "/not-listed": true, "nobody/x": false, "chat": false} {
		m, ok := i.Model(name)
		if ok != known || ok && (m.Name != name || !m.Price.Known()) {
			t.Errorf("model %s: got %+v, %v, want %v and a price", name, m, ok, known)
		}
		for j := range listed {
			if listed[j].Name == name && listed[j].View().Prices["input"] != m.View().Prices["input"] {
				t.Errorf("model %s: got another price than in the list", name)
			}
		}
	}
	if p := i.PriceSources(); p.Data == "" || p.Day == "" {
		t.Errorf("prices: got %+v, want the data's name and day", p)
	}
	s, err := i.System(ctx)
	if err != nil || len(s.Nodes) != 1 || !s.Nodes[0].Here || !s.Nodes[0].Alive || !strings.HasPrefix(s.Database.Engine, "SQLite 3") ||
		s.Database.Schema == 0 || s.Database.Schema != s.Database.Current || s.Valkey.Used || s.Journal.Problem+s.Journal.Database != "" {
		t.Errorf("system: got %+v, %v", s, err)
	}
}

// TestSettingsInForce checks that the settings are those in force: a setting that a reload cannot change is unchanged,
// and no secret is among them.
func TestSettingsInForce(t *testing.T) {
	t.Parallel()
	g := newInstance(t)
	next := config.Default()
	next.Listen, next.Data = "192.0.2.1:1", "/elsewhere"
	next.Prices = map[string]map[string]string{upstream.DemoName + "/x": {"input": "0.5"}}
	next.Limits.RPM, next.Alerts.Refusals = 77, 7
	next.Providers = []config.Provider{{Name: upstream.DemoName, APIKeys: []llm.Secret{llm.NewSecret("canary")}}}
	g.options.Reload = func([]byte) (config.Config, error) { return next, nil }
	before := installationOf(g, time.Now()).Settings()
	must.Do(t, g.reloadOnce(context.WithoutCancel(t.Context())))
	i := installationOf(g, time.Now())
	after := i.Settings()
	for path, want := range map[string]string{
		"listen": value(before, "listen"), "data": value(before, "data"), "limits.rpm": "77",
		"prices.demo/x.input": `"0.5"`, "providers.demo.api_keys": `["[redacted]"]`,
	} {
		if got := value(after, path); got != want || want == "" {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	if got := g.admin.Alerts.Rules().Refusals; got != 7 || got == g.options.Config.Alerts.Refusals {
		t.Errorf("alerts: got the limit %d of refusals, want 7", got)
	}
	if got := i.PriceSources().Overrides[upstream.DemoName+"/x"]["input"]; got != "0.5" {
		t.Errorf("prices of the configuration: got %q, want 0.5", got)
	}
}

// value returns the setting of that path; empty for none.
func value(s dashboard.Settings, path string) string {
	at := slices.IndexFunc(s.Values, func(v dashboard.Setting) bool { return v.Path == path })
	if at < 0 {
		return ""
	}
	return s.Values[at].Value
}
