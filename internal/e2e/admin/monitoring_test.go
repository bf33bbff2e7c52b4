package admin_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/must"
)

const monitoring = "../../../deploy/monitoring/"

// prometheus is a running Prometheus.
type prometheus struct {
	t   *testing.T
	url string
}

// startPrometheus starts a Prometheus that scrapes a gateway, with the rules of deploy. If it is not installed, the test
// is skipped, or fails if WEIR_TEST_REQUIRE is "all".
func startPrometheus(t *testing.T, gateway string) *prometheus {
	t.Helper()
	path, err := exec.LookPath("prometheus")
	if err != nil && os.Getenv("WEIR_TEST_REQUIRE") == "all" {
		t.Fatal("prometheus is not there, and WEIR_TEST_REQUIRE is all")
	}
	if err != nil {
		t.Skip("prometheus is not there")
	}
	l := must.Get((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	address := l.Addr().String()
	must.Do(t, l.Close())
	dir := t.TempDir()
	cfg := fmt.Sprintf("global: {scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 1s}\nrule_files: [%q]\n"+
		"scrape_configs: [{job_name: weir, static_configs: [{targets: [%q]}]}]\n",
		must.Get(filepath.Abs(monitoring+"alerts.yml"))(t), strings.TrimPrefix(gateway, "http://"))
	must.Do(t, os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(cfg), 0o600))
	cmd := exec.CommandContext(t.Context(), path, "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--log.level=error")
	must.Do(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	p := &prometheus{t, "http://" + address}
	harness.Await(t, "Prometheus", func() bool {
		return p.get("/-/ready", nil) == nil
	})
	return p
}

// get reads an answer of the API into a value; nil for none.
func (p *prometheus) get(path string, into any) error {
	r := must.Get(http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.url+path, nil))(p.t)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, resp.Status)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// query returns how many series an expression has.
func (p *prometheus) query(expression string) int {
	p.t.Helper()
	var answer struct {
		Data struct {
			Result []struct{ Metric map[string]string }
		}
	}
	must.Do(p.t, p.get("/api/v1/query?query="+url.QueryEscape(expression), &answer))
	return len(answer.Data.Result)
}

// TestMonitoringFilesHaveData feeds a real Prometheus from a gateway with all kinds of requests: each query of the
// dashboard has data, and each rule can be evaluated over metrics that exist.
func TestMonitoringFilesHaveData(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL) + "telemetry: {labels: [account, \"tag:team\"]}\n"})
	p := startPrometheus(t, h.URL)
	traffic := func() {
		h.Chat("house/chat", "X-Weir-Tags", "team=ml")
		h.Stream("house/chat")
		h.Chat("house/chat:status=500")
		h.Chat("nobody/has-this")
	}
	traffic()
	for range 2 { // a rate needs two samples, and an increase between them
		scraped := p.query(`count_over_time(up{job="weir"}[10m]) > 1`)
		harness.Await(t, "a scrape", func() bool { return p.query(`count_over_time(up{job="weir"}[10m]) > 1`) > 0 || scraped > 0 })
		traffic()
	}
	harness.Await(t, "a rate of refusals", func() bool { return p.query(`sum(rate(weir_refused_total[1m])) > 0`) > 0 })
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile(monitoring+"grafana/weir.json"))(t), &board))
	queries := 0
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			queries++
			expr := strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*", "$group", "tag_team").Replace(target.Expr)
			// A scrape that is late on a busy machine leaves a gap.
			harness.Await(t, fmt.Sprintf("data of the panel %q: %s", panel.Title, expr), func() bool {
				return p.query(expr) > 0
			})
		}
	}
	if queries < 30 {
		t.Errorf("got %d queries of the dashboard, want about thirty", queries)
	}
	if p.query(`sum by (tag_team) (weir_cost_nanousd_total{tag_team="ml"})`) != 1 {
		t.Error("got no cost of the team")
	}
	if p.query("weir_no_such_metric") != 0 || p.query(`sum by (account) (weir_cost_nanousd_total{account="default"})`) != 1 {
		t.Error("got data of a metric that is not there, or no cost of the account")
	}
	p.checkRules()
}

// checkRules checks that all rules are evaluated without an error, and that the metrics that they name exist.
func (p *prometheus) checkRules() {
	t := p.t
	t.Helper()
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Query, Health, LastError string }
			}
		}
	}
	harness.Await(t, "the rules", func() bool {
		must.Do(t, p.get("/api/v1/rules", &answer))
		return len(answer.Data.Groups) > 0 && answer.Data.Groups[0].Rules[0].Health != "unknown"
	})
	rules := answer.Data.Groups[0].Rules
	if len(rules) < 10 {
		t.Errorf("got %d rules, want more", len(rules))
	}
	for _, r := range rules {
		if r.Health != "ok" {
			t.Errorf("the rule %s is %s: %s", r.Name, r.Health, r.LastError)
		}
		for _, metric := range regexp.MustCompile(`\bweir_[a-z_]+`).FindAllString(r.Query, -1) {
			if p.query(metric) == 0 {
				t.Errorf("the rule %s names %s, which has no data", r.Name, metric)
			}
		}
	}
}
