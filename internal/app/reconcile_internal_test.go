package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/config"
	"weir/internal/dialect/registry"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/simulator"
)

const (
	adminKey  = "sk-admin-1"
	pastModel = "chat:tokens=24"
)

// reporting returns a staff whose gateway has three providers: house was used without the gateway three days ago and
// yesterday, quiet was not used at all, and silent has no admin key.
func reporting(t *testing.T) (s *staff, day time.Time) {
	t.Helper()
	s = newStaff(t)
	day = time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -3)
	var now time.Time
	serve := func() *httptest.Server {
		sim := simulator.New(simulator.Options{Dialects: registry.All(), Seed: 1, Clock: func() time.Time { return now }})
		t.Cleanup(sim.Close)
		reports := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/organization/") && r.Header.Get("Authorization") != "Bearer "+adminKey {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			sim.ServeHTTP(w, r)
		}))
		t.Cleanup(reports.Close)
		return reports
	}
	house, quiet := serve(), serve()
	for _, now = range []time.Time{day.Add(time.Hour), day.AddDate(0, 0, 2)} {
		body := `{"model":"` + pastModel + `","messages":[{"role":"user","content":"Hi"}]}`
		answer := must.Get(http.Post(house.URL+"/v1/chat/completions", "application/json", strings.NewReader(body)))(t)
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("past the gateway: got %d", answer.StatusCode)
		}
	}
	cfg := s.options.Config
	for name, p := range map[string]config.Provider{
		"house":  {BaseURL: house.URL + "/v1", AdminKey: llm.NewSecret(adminKey)},
		"quiet":  {BaseURL: quiet.URL + "/v1", AdminKey: llm.NewSecret(adminKey)},
		"silent": {BaseURL: house.URL + "/v1"},
		"wrong":  {BaseURL: house.URL + "/v1", AdminKey: llm.NewSecret("k")},
	} {
		p.Name, p.Dialect, p.AllowPrivate, p.APIKeys = name, "openai", true, []llm.Secret{llm.NewSecret("k")}
		cfg.Providers = append(cfg.Providers, p)
	}
	old := s.router.Table()
	s.router.Use(must.Get(s.upstream.Table(t.Context(), &cfg))(t))
	s.reloaded.Store(&cfg)
	old.Close()
	return s, day
}

// TestReconciliationByAPI requests a comparison, with mistakes of every kind.
func TestReconciliationByAPI(t *testing.T) {
	t.Parallel()
	s, day := reporting(t)
	got := s.want(200, "operator", "GET /reconciliation?provider=house", "")
	rows, _ := got["data"].([]any)
	if len(rows) != 2 || got["unexplained"] != 2.0 || got["end_date"] != day.AddDate(0, 0, 2).Format(time.DateOnly) {
		t.Errorf("got %v", got)
	}
	one := s.want(200, "operator", "GET /reconciliation?provider=house&start_date="+day.Format(time.DateOnly)+"&end_date="+day.Format(time.DateOnly), "")
	row, _ := one["data"].([]any)[0].(map[string]any)
	if row["date"] != day.Format(time.DateOnly) || row["model"] != pastModel || row["finding"] != "more" || row["explained"] != false {
		t.Errorf("got %v", row)
	}
	if quiet := s.want(200, "operator", "GET /reconciliation?provider=quiet", ""); quiet["unexplained"] != 0.0 {
		t.Errorf("got %v", quiet)
	}
	s.want(400, "operator", "GET /reconciliation", "")
	s.want(400, "operator", "GET /reconciliation?provider=house&start_date=2026-02-01&end_date=2026-01-01", "")
	s.want(400, "operator", "GET /reconciliation?provider=house&start_date=2020-01-01", "")
	s.want(400, "operator", "GET /reconciliation?provider=silent", "")
	s.want(404, "operator", "GET /reconciliation?provider=nobody", "")
	s.want(502, "operator", "GET /reconciliation?provider=wrong", "")
	s.want(403, "owner", "GET /reconciliation?provider=house", "")
}
