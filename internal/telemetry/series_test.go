package telemetry_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/telemetry"
)

// lines returns the lines of a metric.
func lines(text, metric string) (all []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, metric+"{") {
			all = append(all, strings.TrimSuffix(line, "\n"))
		}
	}
	return all
}

// TestSelectedLabelsNameCallers checks that labels name account, key and tags if they are selected, and not otherwise.
func TestSelectedLabelsNameCallers(t *testing.T) {
	t.Parallel()
	m, cost := telemetry.New("test", everyLabel()), llm.Money(7)
	m.Attempt(ended("chat"), settlement(), &cost)
	m.Refused(llm.CodeRateLimited, ended("chat").Caller)
	text := read(t, m)
	for _, want := range []string{
		`weir_cost_nanousd_total{account="acme",key="019a",key_label="ci",model="chat",provider="house",tag_none="",tag_team="ml"} 7`,
		`weir_tokens_total{account="acme",class="output",key="019a",key_label="ci",model="chat",provider="house",tag_none="",tag_team="ml"} 11`,
		`weir_upstream_attempts_total{account="acme",key="019a",key_label="ci",model="chat",outcome="ok",provider="house",tag_none="",tag_team="ml"} 1`,
		`weir_refused_total{account="acme",key="019a",key_label="ci",reason="RATE_LIMITED"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %q in the metrics:\n%s", want, text)
		}
	}
	if strings.Contains(text, "canary") {
		t.Error("the metrics have a tag that is not selected")
	}
	plain := telemetry.New("test", telemetry.Labels{})
	plain.Attempt(ended("chat"), settlement(), &cost)
	plain.Refused(llm.CodeRateLimited, ended("chat").Caller)
	for _, secret := range []string{"acme", "019a", `"ci"`, `"ml"`} {
		if strings.Contains(read(t, plain), secret) {
			t.Errorf("the metrics have %s without a label for it", secret)
		}
	}
}

// TestSeriesAreBounded checks that further combinations of labels are counted together, and that their sum is complete.
func TestSeriesAreBounded(t *testing.T) {
	t.Parallel()
	m, cost, sum := telemetry.New("test", everyLabel()), llm.Money(1), 0
	for i := range telemetry.MostSeries + 10 {
		e := ended("chat")
		e.Account = fmt.Sprint("account", i)
		m.Attempt(e, settlement(), &cost)
		m.Refused(llm.CodeRateLimited, e.Caller)
	}
	for _, metric := range []string{"weir_cost_nanousd_total", "weir_refused_total"} {
		all := lines(read(t, m), metric)
		if most := telemetry.MostSeries + 1; len(all) > most {
			t.Errorf("%s: got %d lines, want at most %d", metric, len(all), most)
		}
		for _, line := range all {
			var n int
			_, _ = fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &n)
			sum += n
			if n > 1 && !strings.Contains(line, `account="(other)",key="(other)",key_label="(other)"`) {
				t.Errorf("got %s, want others in this line only", line)
			}
		}
	}
	if want := 2 * (telemetry.MostSeries + 10); sum != want {
		t.Errorf("got %d in all lines, want %d", sum, want)
	}
}

// TestMadeUpModelsAreNoLabels checks that models that a provider rejects, and names that cannot be labels, have none.
func TestMadeUpModelsAreNoLabels(t *testing.T) {
	t.Parallel()
	m, rejected := telemetry.New("test", telemetry.Labels{}), settlement()
	rejected.Outcome = ledger.OutcomeRejected
	m.Attempt(ended("made-up"), rejected, nil)
	m.Attempt(ended("made-\xff"), settlement(), nil)
	m.Attempt(ended(strings.Repeat("long", 100)), settlement(), nil)
	m.Attempt(ended("real"), settlement(), nil)
	m.Attempt(ended("real"), rejected, nil)
	all := strings.Join(lines(read(t, m), "weir_upstream_attempts_total"), "\n")
	for _, want := range []string{
		`{model="(other)",outcome="rejected",provider="house"} 1`, `{model="(other)",outcome="ok",provider="house"} 2`,
		`{model="real",outcome="ok",provider="house"} 1`, `{model="real",outcome="rejected",provider="house"} 1`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in:\n%s", want, all)
		}
	}
	if strings.Contains(all, "made-up") {
		t.Errorf("a rejected model is a label:\n%s", all)
	}
}

// TestExemplarsNameTraces checks that durations of traced requests and attempts have their trace in OpenMetrics, and
// others none.
func TestExemplarsNameTraces(t *testing.T) {
	t.Parallel()
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	m, e := telemetry.New("test", telemetry.Labels{}), ended("chat")
	m.Route("/v1/chat").Done(http.StatusOK, time.Second, trace)
	m.Route("/v1/models").Done(http.StatusOK, time.Second, "")
	e.Trace = trace
	m.Attempt(e, settlement(), nil)
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, r)
	var got []string
	for line := range strings.Lines(w.Body.String()) {
		if name, exemplar, ok := strings.Cut(line, " # "); ok && strings.Contains(exemplar, `{trace_id="`+trace+`"}`) {
			got = append(got, name[:strings.IndexByte(name, ' ')])
		}
	}
	want := `weir_http_request_duration_seconds_bucket{route="/v1/chat",le="1.0"} weir_upstream_first_token_seconds_bucket{provider="house",le="0.5"}`
	if strings.Join(got, " ") != want {
		t.Errorf("got exemplars at %q, want %q", got, want)
	}
}
