package admin_test

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// TestMetricsCountRequests checks the metrics after some requests.
func TestMetricsCountRequests(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	h.MustAnswer(h.Chat("house/echo"))
	h.Stream("house/chat")
	h.Chat("house/chat:status=500")
	h.Do(harness.Ask{Path: "/nothing/here"})
	r := h.Do(harness.Ask{Path: "/metrics", Key: harness.NoKey})
	if r.Status != http.StatusOK || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain") {
		t.Fatalf("got %d %q, want the metrics", r.Status, r.Header.Get("Content-Type"))
	}
	for _, want := range []string{
		`weir_http_requests_total{class="2xx",route="/v1/chat"} 2`,
		`weir_http_requests_total{class="5xx",route="/v1/chat"} 1`,
		`weir_http_requests_total{class="4xx",route="other"} 1`,
		`weir_http_request_duration_seconds_count{route="/v1/chat"} 3`,
		`weir_upstream_attempts_total{model="echo",outcome="ok",provider="house"} 1`,
		`weir_upstream_attempts_total{model="chat",outcome="ok",provider="house"} 1`,
		`weir_upstream_attempts_total{model="(other)",outcome="rejected",provider="house"} 1`,
		`weir_upstream_first_token_seconds_count{provider="house"} 1`,
		`weir_gateway_overhead_seconds_count 3`,
		`weir_shed_total{priority="batch",reason="concurrency"} 0`,
		`weir_provider_circuit_open{provider="house"} 0`,
		`weir_build_info{goversion="go`,
		"weir_holds_open 0\n", "weir_requests_in_flight 0\n", "weir_requests_waiting 0\n",
		"weir_ledger_database_up 1\n", "weir_ledger_unknown_total 0\n", "weir_journal_lost_bytes 0\n", "weir_ledger_set_aside 0\n",
		"weir_ledger_lag_bytes ", `weir_tokens_total{class="output",model="echo",provider="house"} `, `weir_cost_nanousd_total{model="echo",provider="house"} `, "go_goroutines ", "process_cpu_seconds_total ",
	} {
		if !strings.Contains(r.Body, want) {
			t.Errorf("no %q in the metrics", want)
		}
	}
	for _, secret := range []string{h.Key, harness.UpstreamKey, "default", `weir_cost_nanousd_total{model="echo",provider="house"} 0`, `weir_tokens_total{class="output",model="echo",provider="house"} 0`} {
		if strings.Contains(r.Body, secret) {
			t.Errorf("got %q in the metrics, want no such thing there", secret)
		}
	}
	if t.Failed() {
		t.Log(r.Body)
	}
}

// TestMetricsElsewhere serves metrics on a listener of their own.
func TestMetricsElsewhere(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	address := l.Addr().String()
	must.Do(t, l.Close())
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "telemetry: {listen: \"" + address + "\"}\n" + harness.ProvidersYAML(up.URL)})
	if r := h.Do(harness.Ask{Path: "/metrics", Key: harness.NoKey}); r.Status != http.StatusNotFound {
		t.Errorf("on the main listener: got %d, want 404", r.Status)
	}
	for path, want := range map[string]int{"/metrics": 200, "/livez": 200, "/readyz": 200, "/v1/uses": 404, "/": 404} {
		resp := must.Get(h.Client.Get("http://" + address + path))(t)
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s on the metrics' listener: got %d, want %d", path, resp.StatusCode, want)
		}
	}
}

// TestOverloadOfBatch checks that a full gateway still serves its own endpoints, and its answers to refused requests.
func TestOverloadOfBatch(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "max_concurrency: 2\n" + harness.ProvidersYAML(up.URL)})
	first := make(chan harness.Reply)
	go func() { first <- h.Chat("house/echo:ttft=3s") }()
	harness.Await(t, "the first request", func() bool { return len(up.Ledger().Totals().Outcomes) > 0 })
	body := `{"model":"house/echo","messages":[{"role":"user","prompt":"Hello!"}]}`
	batch := harness.Ask{Path: "/v1/chat", Body: body, Header: []string{"X-Weir-Priority", "batch"}}
	r := h.Do(batch)
	harness.WantError(t, r, 503, "OVERLOADED")
	if got := r.Header.Get("Retry-After"); got != "5" {
		t.Errorf("batch: got Retry-After %q, want 5", got)
	}
	for _, path := range []string{"/livez", "/readyz", "/metrics", "/v1/uses"} {
		if r := h.Do(harness.Ask{Path: path}); r.Status != http.StatusOK {
			t.Errorf("%s of a full gateway: got %d, want 200", path, r.Status)
		}
	}
	h.MustAnswer(h.Do(harness.Ask{Path: "/v1/chat", Body: body, Header: []string{"X-Weir-Priority", "unheard of"}}))
	h.MustAnswer(<-first)
	h.MustAnswer(h.Do(batch))
}
