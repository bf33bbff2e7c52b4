package telemetry_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/telemetry"
)

// read returns the text of a scrape.
func read(t testing.TB, m *telemetry.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("got %d %s, want 200", w.Code, w.Body)
	}
	return w.Body.String()
}

func settlement() *ledger.Settlement {
	return &ledger.Settlement{
		Outcome: ledger.OutcomeOK, FirstToken: 300 * time.Millisecond,
		Usage: llm.Usage{llm.Input: 7, llm.Output: 11, llm.Requests: 1},
	}
}

// ended returns an attempt of a model.
func ended(model string) telemetry.Ended {
	return telemetry.Ended{
		Attempt: &ledger.Attempt{Provider: "house", Model: model, Attribution: llm.Attribution{
			Tags: []llm.Tag{{Name: "team", Value: "ml"}, {Name: "unused", Value: "canary"}},
		}},
		Caller: telemetry.Caller{Account: "acme", Key: "019a", KeyLabel: "ci"},
	}
}

func everyLabel() telemetry.Labels {
	return telemetry.Labels{Account: true, Key: true, Tags: []telemetry.Tag{{Name: "team", Label: "tag_team"}, {Name: "none", Label: "tag_none"}}}
}

// TestCountsOfEachCall checks the metrics of each call, and that two gateways share nothing.
func TestCountsOfEachCall(t *testing.T) {
	t.Parallel()
	m, other := telemetry.New("1.2.3", telemetry.Labels{}), telemetry.New("1.2.3", telemetry.Labels{})
	cost := llm.Money(1_500)
	m.Attempt(ended("chat"), settlement(), &cost)
	m.Attempt(ended("chat"), settlement(), nil)
	for _, difference := range []llm.Money{10, -9, 11, -200, 0} { // one per cent is 10
		m.ProviderCost("house", difference, 1_000)
	}
	m.ProviderCost("free", 1, 0)
	m.Counted("house", true)
	m.Counted("house", false)
	m.Counted("house", false)
	m.Shed(telemetry.CPU, telemetry.Batch)
	m.Overhead(-time.Second)
	r := m.Route("/v1/chat")
	for _, status := range []int{200, 201, 404, 499, 503, 0, 999} {
		r.Done(status, time.Millisecond, "")
	}
	telemetry.Gauge(m, "weir_own", "Of a test.", func() int { return 42 })
	m.GaugeBy("weir_by", "what", "Of a test.", func(tell func(string, float64)) { tell("a", 1); tell("b", 2) })
	text, others := read(t, m), read(t, other)
	for _, want := range []string{
		`weir_upstream_attempts_total{model="chat",outcome="ok",provider="house"} 2`, `weir_upstream_first_token_seconds_count{provider="house"} 2`,
		`weir_tokens_total{class="input",model="chat",provider="house"} 14`,
		`weir_tokens_total{class="output",model="chat",provider="house"} 22`, `weir_cost_nanousd_total{model="chat",provider="house"} 1500`,
		`weir_provider_cost_difference_nanousd_total{provider="house",sign="above"} 21`, `weir_provider_cost_difference_nanousd_total{provider="house",sign="below"} 209`,
		`weir_provider_cost_differs_total{provider="house"} 2`, `weir_provider_cost_differs_total{provider="free"} 1`,
		`weir_token_counts_total{outcome="counted",provider="house"} 1`, `weir_token_counts_total{outcome="failed",provider="house"} 2`,
		`weir_shed_total{priority="batch",reason="cpu"} 1`, `weir_shed_total{priority="interactive",reason="cpu"} 0`,
		`weir_http_requests_total{class="2xx",route="/v1/chat"} 3`, `weir_http_requests_total{class="4xx",route="/v1/chat"} 2`,
		`weir_http_requests_total{class="5xx",route="/v1/chat"} 2`, "weir_gateway_overhead_seconds_sum 0\n",
		"weir_own 42\n", `weir_by{what="a"} 1`, `weir_by{what="b"} 2`, `version="1.2.3"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the metrics:\n%s", want, text)
		}
		if strings.Contains(others, want) && !strings.HasSuffix(want, " 0\n") && !strings.HasSuffix(want, " 0") && !strings.HasPrefix(want, "version") {
			t.Errorf("got %q in the metrics of another gateway", want)
		}
	}
	if got := m.AllShed(); got != 1 {
		t.Errorf("refused in all: got %d, want 1", got)
	}
}

// TestNoAllocation checks that the counters of every request do not allocate.
func TestNoAllocation(t *testing.T) {
	m, e, s, cost := telemetry.New("test", everyLabel()), ended("chat"), settlement(), llm.Money(5)
	r := m.Route("/v1/chat")
	if got := testing.AllocsPerRun(100, func() { count(m, r, e, s, &cost) }); got > 0 {
		t.Errorf("got %v allocations a request, want 0", got)
	}
}

func count(m *telemetry.Metrics, r *telemetry.Route, e telemetry.Ended, s *ledger.Settlement, cost *llm.Money) {
	m.Attempt(e, s, cost)
	m.Overhead(time.Millisecond)
	r.Done(http.StatusOK, time.Second, "")
}

// BenchmarkRequest measures a request's metrics.
func BenchmarkRequest(b *testing.B) {
	m, e, s, cost := telemetry.New("test", everyLabel()), ended("chat"), settlement(), llm.Money(5)
	r := m.Route("/v1/chat")
	b.ReportAllocs()
	for b.Loop() {
		count(m, r, e, s, &cost)
	}
}
