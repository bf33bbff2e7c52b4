package check_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	_ "github.com/prometheus/prometheus/discovery/dns" // of scrape_configs
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"

	"weir/internal/must"
)

// page returns the documentation's page with the metrics and the alerts.
func page(t *testing.T) string {
	t.Helper()
	return string(must.Get(os.ReadFile("../../docs/operations.md"))(t))
}

func rules(t *testing.T, text string) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.Parse([]byte(text), false, model.UTF8Validation, parser.NewParser(parser.Options{}),
		slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	if groups == nil {
		t.FailNow()
	}
	var all []rulefmt.Rule
	for _, g := range groups.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

// TestAlertsMatchDocumentation checks that the rules are valid, and equal those of the documentation.
func TestAlertsMatchDocumentation(t *testing.T) {
	t.Parallel()
	all := rules(t, read(t, "monitoring/alerts.yml"))
	text := page(t)
	_, block, _ := strings.Cut(text, "```yaml\ngroups:")
	block, _, _ = strings.Cut(block, "```")
	told := rules(t, "groups:"+block)
	if len(told) == 0 {
		t.Fatal("docs/operations.md has no rules")
	}
	for _, want := range told {
		if !slices.ContainsFunc(all, func(r rulefmt.Rule) bool {
			return r.Alert == want.Alert && r.Expr == want.Expr && r.For == want.For &&
				r.Annotations["summary"] == want.Annotations["summary"]
		}) {
			t.Errorf("monitoring/alerts.yml does not have the rule %s of docs/operations.md", want.Alert)
		}
	}
	_, worth, ok := strings.Cut(text, "They cover ")
	worth, _, _ = strings.Cut(worth, "\n\n")
	if !ok {
		t.Error("docs/operations.md does not list the metrics that the rules cover")
	}
	for _, metric := range metricForm.FindAllString(worth, -1) {
		if !slices.ContainsFunc(all, func(r rulefmt.Rule) bool { return strings.Contains(r.Expr, metric) }) {
			t.Errorf("no rule has %s of docs/operations.md", metric)
		}
	}
	for _, r := range all {
		holdMetrics(t, text, r.Expr)
	}
}

// TestAlertsFire has Prometheus's own tool evaluate the rules over the series of gateways that are killed, replaced and
// healthy.
func TestAlertsFire(t *testing.T) {
	t.Parallel()
	if out, err := run(t, program(t, "promtool"), "test", "rules", "testdata/alerts.yml"); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

func TestPrometheusConfiguration(t *testing.T) {
	t.Parallel()
	cfg := must.Get(config.LoadFile(path("monitoring/prometheus.yml"), false, slog.New(slog.DiscardHandler)))(t)
	for _, name := range cfg.RuleFiles {
		_ = must.Get(os.Stat(name))(t)
	}
	must.Equal(t, len(cfg.ScrapeConfigs), 1, "scrape configurations")
}

// metricForm matches the metrics of the gateway in an expression; of histograms with the suffixes of Prometheus.
var metricForm = regexp.MustCompile(`\b(weir|process|go)_[a-z_]+\b`)

// holdMetrics checks that an expression is valid, and names only metrics of the documentation.
func holdMetrics(t *testing.T, text, expression string) {
	t.Helper()
	// Grafana inserts these before it sends the query.
	expression = strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*", "$group", "account").Replace(expression)
	if _, err := parser.NewParser(parser.Options{}).ParseExpr(expression); err != nil {
		t.Errorf("%s: %v", expression, err)
	}
	for _, metric := range metricForm.FindAllString(expression, -1) {
		metric = strings.TrimSuffix(metric, "_bucket")
		if strings.HasPrefix(metric, "weir_") && !strings.Contains(text, "`"+metric+"`") {
			t.Errorf("docs/operations.md does not have the metric %s", metric)
		}
	}
}

// TestDashboardPanelsAreValid checks that each panel has a valid expression, and does not overlap another one.
func TestDashboardPanelsAreValid(t *testing.T) {
	t.Parallel()
	var board struct {
		UID, Title string
		Panels     []struct {
			ID          int
			Type, Title string
			GridPos     struct{ X, Y, W, H int }
			Targets     []struct{ Expr string }
		}
	}
	must.Do(t, json.Unmarshal([]byte(read(t, "monitoring/grafana/weir.json")), &board))
	text, taken, ids, count := page(t), map[[2]int]string{}, map[int]bool{}, 0
	for _, p := range board.Panels {
		if ids[p.ID] {
			t.Errorf("two panels have the id %d", p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("the panel %q lies over %q, or beyond 24 columns", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		for _, target := range p.Targets {
			count++
			holdMetrics(t, text, target.Expr)
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("the panel %q shows nothing", p.Title)
		}
	}
	if count < 20 {
		t.Errorf("got %d expressions, want about twenty: this test looks for another form", count)
	}
}

// TestGrafanaProvisioning checks that the provisioned files are where the containers mount them.
func TestGrafanaProvisioning(t *testing.T) {
	t.Parallel()
	var sources struct {
		APIVersion  int
		Datasources []struct {
			Name, UID, Type, Access, URL string
			IsDefault                    bool
		}
	}
	must.Do(t, yaml.UnmarshalStrict([]byte(read(t, "monitoring/grafana/datasources.yml")), &sources))
	must.Equal(t, sources.Datasources[0].URL, "http://prometheus:9090", "the address of Prometheus")
	var boards struct {
		APIVersion int
		Providers  []struct {
			Name, Type string
			Options    struct{ Path string }
		}
	}
	must.Do(t, yaml.UnmarshalStrict([]byte(read(t, "monitoring/grafana/dashboards.yml")), &boards))
	p := must.Get(compose(secretsOfCompose, "compose.yaml", "compose.monitoring.yaml"))(t)
	at := ""
	for _, v := range p.Services["grafana"].Volumes {
		if strings.HasSuffix(v.Source, "weir.json") {
			at = v.Target
		}
	}
	must.Equal(t, at, boards.Providers[0].Options.Path+"/weir.json", "where the dashboard is")
}
