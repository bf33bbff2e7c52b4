package harness

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metric "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"

	"weir/internal/llm"
	"weir/internal/must"
)

// Telemetry is what a collector has received.
type Telemetry interface {
	// Received returns the spans so far, the attributes of their resource, and all bytes.
	Received() (spans []*trace.Span, about map[string]string, raw []byte)
	// Metric returns a metric of the last export; nil if it has none of that name.
	Metric(name string) *metric.Metric
}

// traced is a request and the spans that it must have.
type traced struct {
	name   string
	ask    Ask
	status int
	ends   []string // outcome of each attempt
	events string   // of the request's span
	kind   string   // error.type of the request's span

	got Reply
}

const (
	parentTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	parentSpan  = "00f067aa0ba902b7"
)

// CheckTelemetry exports the traces and metrics of whole, streamed, failed, rescued, cut and refused requests to a
// collector at a URL: each has one server span and a client span for each attempt, with the ledger's tokens and cost,
// and no content.
func CheckTelemetry(t *testing.T, url string, to Telemetry) {
	t.Helper()
	up, told := NewUpstream(t), NewStoryProvider(t)
	taken := make(chan string, 1)
	takes := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		taken <- r.Header.Get("Traceparent") + r.Header.Get("Baggage")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, Answered(`,"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}`))
	}))
	t.Cleanup(takes.Close)
	yaml := "providers:" + ProviderYAML("house", up.URL) + ProviderYAML("told", told.URL) +
		strings.ReplaceAll(ProviderYAML("takes", takes.URL), "retries: 0", "retries: 0\n    trace_context: true") + `
prices:
  house/*: {input: "3", output: "15"}
  told/*: {input: "1", output: "2"}
  takes/*: {input: "1", output: "2"}
aliases:
  again: {targets: ["house/chat:status=500", "house/chat:tokens=5"]}
  rescued: {targets: ["told/cut-5-traced", "told/go"]}
telemetry: {otlp: "` + url + `", labels: [account, "tag:cost-center"]}
`
	h := Open(t, Setup{YAML: yaml})
	stream := []string{"Accept", "text/event-stream"}
	parent := []string{"traceparent", "00-" + parentTrace + "-" + parentSpan + "-01", "baggage", "user=canary"}
	tagged := []string{"X-Weir-Tags", "cost-center=science,other=canary"}
	chat := func(model string, header ...string) Ask {
		return Ask{Path: "/v1/chat", Body: strings.Replace(Hello(model), "Say it again", "The canary sings", 1), Header: header}
	}
	all := []traced{
		{name: "whole", ask: chat("house/chat:tokens=7", parent...), status: 200, ends: []string{"ok"}},
		{name: "passed on", ask: chat("takes/any", parent...), status: 200, ends: []string{"ok"}},
		{name: "streamed", ask: chat("house/chat:tokens=9", slices.Concat(stream, tagged)...), status: 200, ends: []string{"ok"}},
		{name: "failed over", ask: chat("again"), status: 200, ends: []string{"rejected", "ok"}},
		{name: "rescued", ask: Ask{Path: "/v1/chat/completions", Body: `{"model":"rescued","stream":true,"messages":[{"role":"user","content":"The canary sings"}]}`}, status: 200, ends: []string{"cut", "ok"}, events: "rescue"},
		{name: "cut", ask: chat("house/chat:fault=cut,at=3", stream...), status: 200, ends: []string{"cut"}, kind: "PROVIDER_ERROR"},
		{name: "rejected", ask: chat("house/chat:status=400"), status: 400, ends: []string{"rejected"}, kind: "INVALID_REQUEST"},
		{name: "refused", ask: chat("nobody/has-this"), status: 404, kind: "MODEL_NOT_FOUND"},
		{name: "a path that is no text", ask: Ask{Path: "/v1beta/models/%ff:generateContent", Body: "{}", Key: NoKey}, status: 401, kind: "AUTHENTICATION_ERROR"},
		{name: "without a key", ask: Ask{Path: "/v1/chat", Body: Hello("house/chat"), Key: NoKey}, status: 401, kind: "AUTHENTICATION_ERROR"},
	}
	for i := range all {
		all[i].got = h.Do(all[i].ask)
	}
	rows := map[string][]Row{}
	for i := range all {
		if id := all[i].got.Header.Get("X-Request-Id"); len(all[i].ends) > 0 {
			rows[id] = h.Rows(id)
		}
	}
	must.Do(t, h.Stop()) // exports the rest
	spans, about, raw := to.Received()
	checkMetrics(t, to, rows)
	if about["service.name"] != "weir" {
		t.Errorf("the resource is %v, want the service weir", about)
	}
	if bytes.Contains(raw, []byte("canary")) {
		t.Error("the traces have content of requests")
	}
	for i := range all {
		all[i].check(t, spans, rows)
	}
	sent := <-taken
	if !slices.ContainsFunc(spans, func(s *trace.Span) bool {
		return s.Kind == trace.Span_SPAN_KIND_CLIENT && sent == "00-"+parentTrace+"-"+hex.EncodeToString(s.SpanId)+"-01"
	}) {
		t.Errorf("the provider got the trace context %q, want that of its attempt", sent)
	}
}

// checkMetrics compares the metrics of the last export with the ledger's rows: their cost by model, and the traces of
// their exemplars.
func checkMetrics(t *testing.T, to Telemetry, rows map[string][]Row) {
	t.Helper()
	cost := to.Metric("weir_cost_nanousd_total")
	if cost == nil {
		t.Fatal("no cost was exported")
	}
	got, want, tagged := map[string]llm.Money{}, map[string]llm.Money{}, 0
	for _, p := range cost.GetSum().GetDataPoints() {
		a := AttributesOf(p.Attributes)
		got[a["provider"]+"/"+a["model"]] += llm.Money(p.GetAsDouble())
		if a["tag_cost_center"] == "science" {
			tagged++
		}
		if a["account"] == "" {
			t.Errorf("the cost of %v has no account", a)
		}
		if strings.Contains(fmt.Sprint(a), "canary") {
			t.Errorf("the metrics have a tag that is no label: %v", a)
		}
	}
	for _, all := range rows {
		for _, row := range all {
			model := row.Model
			if row.Outcome == "rejected" {
				model = model[:strings.IndexByte(model, '/')] + "/(other)"
			}
			want[model] += must.Get(llm.ParseMoney(row.Cost))(t)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cost by model (-ledger +metrics)\n%s", diff)
	}
	if tagged != 1 {
		t.Errorf("%d series have the tag, want 1", tagged)
	}
	traces := 0
	for _, p := range to.Metric("weir_http_request_duration_seconds").GetHistogram().GetDataPoints() {
		for _, e := range p.Exemplars {
			if traces++; len(e.TraceId) != 16 {
				t.Errorf("an exemplar has the trace %x, want 16 bytes", e.TraceId)
			}
		}
	}
	if traces == 0 {
		t.Error("no exemplar has a trace")
	}
}

// check compares the spans of a request with its answer and its rows.
func (x *traced) check(t *testing.T, spans []*trace.Span, rows map[string][]Row) {
	t.Helper()
	id := x.got.Header.Get("X-Request-Id")
	if x.got.Status != x.status {
		t.Errorf("%s: %d %s, want %d", x.name, x.got.Status, x.got.Body, x.status)
	}
	server := serverSpan(spans, id)
	if server == nil {
		t.Errorf("%s: no server span", x.name)
		return
	}
	about := AttributesOf(server.Attributes)
	if got := about["error.type"]; got != x.kind {
		t.Errorf("%s: the request's error is %q, want %q", x.name, got, x.kind)
	}
	if got := about["http.response.status_code"]; !strings.Contains(got, strconv.Itoa(x.status)) {
		t.Errorf("%s: the status is %s, want %d", x.name, got, x.status)
	}
	var events []string
	for _, e := range server.Events {
		events = append(events, e.Name)
	}
	if got := strings.Join(events, " "); got != x.events {
		t.Errorf("%s: events %q, want %q", x.name, got, x.events)
	}
	if x.name == "whole" && (hex.EncodeToString(server.TraceId) != parentTrace || hex.EncodeToString(server.ParentSpanId) != parentSpan) {
		t.Errorf("%s: the span's parent is not the client's", x.name)
	}
	var got, want []string
	for _, s := range spans {
		if s.Kind == trace.Span_SPAN_KIND_CLIENT && bytes.Equal(s.ParentSpanId, server.SpanId) {
			a := AttributesOf(s.Attributes)
			got = append(got, strings.Join([]string{
				a["weir.outcome"], a["weir.provenance"], a["weir.provider"] + "/" + a["gen_ai.request.model"],
				a["gen_ai.usage.input_tokens"], a["gen_ai.usage.output_tokens"], a["weir.cost_usd"],
			}, " "))
		}
	}
	for i, row := range rows[id] {
		if row.Outcome != x.ends[i] {
			t.Errorf("%s: attempt %d is %s, want %s", x.name, i+1, row.Outcome, x.ends[i])
		}
		usd := must.Get(llm.ParseMoney(row.Cost))(t)
		want = append(want, fmt.Sprintf("%s %s %s int_value:%d int_value:%d double_value:%v", row.Outcome, row.Provenance, row.Model, row.In, row.Out,
			float64(usd)/float64(llm.USD)))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: attempts (-ledger +traces)\n%s", x.name, diff)
	}
}

// serverSpan returns the span of a request; nil if there is none.
func serverSpan(spans []*trace.Span, id string) *trace.Span {
	for _, s := range spans {
		if s.Kind == trace.Span_SPAN_KIND_SERVER && AttributesOf(s.Attributes)["weir.request_id"] == id {
			return s
		}
	}
	return nil
}
