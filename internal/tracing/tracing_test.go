package tracing_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/ledger"
	"weir/internal/must"
	"weir/internal/tracing"
)

// TestIsOnByEndpoint checks which settings switch traces and metrics on.
func TestIsOnByEndpoint(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		endpoint, environment string
		traces, metrics       bool
	}{
		{"", "", false, false},
		{"http://collector:4318", "", true, true},
		{"", "OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318", true, true},
		{"", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://collector:4318/v1/traces", true, false},
		{"", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://collector:4318/v1/metrics", false, true},
		{"http://collector:4318", "OTEL_SDK_DISABLED=True", false, false},
		{"http://collector:4318", "OTEL_METRICS_EXPORTER=none", true, false},
		{"http://collector:4318", "OTEL_TRACES_EXPORTER=none", false, true},
		{"http://collector:4318", "OTEL_TRACES_EXPORTER=otlp", true, true},
	} {
		name, value, _ := strings.Cut(tt.environment, "=")
		for signal, want := range map[tracing.Signal]bool{tracing.Traces: tt.traces, tracing.Metrics: tt.metrics} {
			got := tracing.IsOn(signal, tt.endpoint, func(asked string) string {
				if asked == name {
					return value
				}
				return ""
			})
			if got != want {
				t.Errorf("IsOn(%s, %q) with %q in the environment = %t, want %t", signal, tt.endpoint, tt.environment, got, want)
			}
		}
	}
}

// TestFailuresOfTheCollectorAreLoggedOnce exports to a collector that refuses.
func TestFailuresOfTheCollectorAreLoggedOnce(t *testing.T) {
	t.Parallel()
	collector := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(collector.Close)
	var log bytes.Buffer
	for range 2 {
		tracer := must.Get(tracing.New(t.Context(), tracing.Options{
			Endpoint: collector.URL + "/", Now: time.Now, Log: slog.New(slog.NewTextHandler(&log, nil)),
		}))(t)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chat", nil)
		q := tracer.Request(r, "/v1/chat", "id", time.Now())
		q.Attempt(&ledger.Attempt{Model: "m"}, &tracing.Call{Address: "http://127.0.0.1"}).End(&ledger.Settlement{}, nil, nil)
		q.End(http.StatusOK)
		must.Do(t, tracer.Stop(t.Context()))
	}
	if n := strings.Count(log.String(), "telemetry cannot be exported"); n != 2 { // once for each tracer
		t.Errorf("%d lines, want one for each tracer:\n%s", n, log.String())
	}
}

// TestNothingIsTracedWithoutTracer checks that the absent tracer and its absent spans may be used.
func TestNothingIsTracedWithoutTracer(t *testing.T) { //nolint:paralleltest // it counts allocations
	var tracer *tracing.Tracer
	q := tracer.Request(nil, "", "", time.Time{})
	if n := testing.AllocsPerRun(10, func() {
		q.Known("account", "key")
		q.Asked("model")
		q.Paused(time.Second)
		q.Rescued()
		q.Waited("journal", q.Now())
		q.Failed("INTERNAL_ERROR")
		a := q.Attempt(nil, nil)
		if a.Header() != nil {
			t.Error("an absent attempt has headers")
		}
		a.End(nil, nil, nil)
		q.End(http.StatusOK)
		if q.ID()+a.ID() != "" {
			t.Error("an absent span has a trace")
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
	must.Do(t, tracer.Stop(t.Context()))
}
