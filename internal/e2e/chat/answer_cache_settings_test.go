package chat_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	v1 "go.opentelemetry.io/proto/otlp/trace/v1"

	"weir/internal/account"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// TestStoredAnswersOfKeyArePurged asks by the setting of a key, deletes the answers by the administration API, and
// looks for the purge in the audit log.
func TestStoredAnswersOfKeyArePurged(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	admin := h.NewKey(account.KeyOptions{Account: account.DefaultName, Label: "operator", Permissions: []account.Permission{account.Admin}})
	key := h.NewKey(account.KeyOptions{Account: account.DefaultName, Label: "remembers", AnswerCache: time.Hour})
	ask := harness.Ask{Path: "/v1/embeddings", Body: `{"model":"house/chat","input":"Hi"}`, Key: key}
	first := wantCached(t, h, ask, "miss")
	if hit := wantCached(t, h, ask, "hit"); hit.Body != first.Body {
		t.Errorf("got %s, want %s", hit.Body, first.Body)
	}
	const path = "/admin/v1/accounts/default/answers"
	before := h.Do(harness.Ask{Path: path, Key: admin})
	gone := h.Do(harness.Ask{Method: http.MethodDelete, Path: path, Key: admin})
	if before.Status != http.StatusOK || gone.Body != before.Body || !strings.Contains(gone.Body, `"answers":1,`) {
		t.Errorf("stored %d %s, deleted %d %s, want one answer", before.Status, before.Body, gone.Status, gone.Body)
	}
	wantCached(t, h, ask, "miss")
	if r := h.Do(harness.Ask{Path: path, Key: key}); r.Status == http.StatusOK {
		t.Errorf("a key without the permission got %s", r.Body)
	}
	if log := h.Do(harness.Ask{Path: "/admin/v1/audit?limit=10", Key: admin}).Body; !strings.Contains(log, "answers.purged") {
		t.Errorf("the audit log %s lacks the purge", log)
	}
}

// TestSharedStoredAnswers checks that accounts have one another's answers only where the operator says so, that a paced
// stream has the same bytes, and that tokens count if they are configured to.
func TestSharedStoredAnswers(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL) + "answer_cache: {shared: true, pace: 1ms, counts: tokens}\n"})
	other := h.KeyOfNew("other")
	for _, accept := range []string{"application/json", "text/event-stream"} {
		ask := caching(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/chat:tokens=20"), Header: []string{"Accept", accept}}, "1h")
		first := wantCached(t, h, ask, "miss")
		ask.Key = other
		if hit := wantCached(t, h, ask, "hit"); hit.Body != first.Body {
			t.Errorf("%s: got\n%s\nwant\n%s", accept, hit.Body, first.Body)
		}
	}
	limited := h.NewKey(account.KeyOptions{Account: account.DefaultName, Limits: account.Limits{TPM: 100_000}})
	ask := caching(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/chat:tokens=20"), Key: limited}, "1h")
	left := func() string { return wantCached(t, h, ask, "hit").Header.Get("X-RateLimit-Remaining-Tokens") }
	if one, two := left(), left(); one == two || one == "" {
		t.Errorf("%q tokens are left after one stored answer and %q after two, want fewer", one, two)
	}
}

// TestTraceOfStoredAnswerEqualsRow checks the spans of a request that a stored answer served.
func TestTraceOfStoredAnswerEqualsRow(t *testing.T) {
	t.Parallel()
	to := harness.NewCollector(t)
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL) + "\ntelemetry: {otlp: \"" + to.URL + "\"}\n"})
	ask := caching(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo")}, "1h")
	wantCached(t, h, ask, "miss")
	id := wantCached(t, h, ask, "hit").Header.Get("X-Request-Id")
	row := h.Entry(t, id)
	must.Do(t, h.Stop())
	spans, _, _ := to.Received()
	var request, attempt *v1.Span
	for _, s := range spans {
		if harness.AttributesOf(s.Attributes)["weir.request_id"] == id {
			request = s
		}
	}
	for _, s := range spans {
		if request != nil && string(s.ParentSpanId) == string(request.SpanId) && harness.AttributesOf(s.Attributes)["weir.attempt"] != "" {
			attempt = s
		}
	}
	if attempt == nil {
		t.Fatalf("of %d spans none is of the stored answer", len(spans))
	}
	got := harness.AttributesOf(attempt.Attributes)
	for name, want := range map[string]string{
		"weir.cached": "true", "weir.saved_usd": fmt.Sprint(float64(row.Cached.Saved) / 1e9), "weir.cost_usd": "0", "weir.outcome": string(row.Outcome),
		"weir.provenance": string(row.Provenance), "weir.provider": row.Provider, "gen_ai.request.model": row.Model, "weir.attempt": "1",
	} {
		value := got[name]
		if _, number, typed := strings.Cut(value, "_value:"); typed {
			value = number
		}
		if value != want {
			t.Errorf("%s is %q, want %q of the row", name, value, want)
		}
	}
}

// TestStoredAnswersKeepToKeysModels sends Anthropic's own fallbacks with a key of all models and with one that may not
// use the model of the fallback: it does not get that model's answer from the cache.
func TestStoredAnswersKeepToKeysModels(t *testing.T) {
	t.Parallel()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		model, body := "x", must.Get(io.ReadAll(r.Body))(t)
		if strings.Contains(string(body), "fallbacks") {
			model = "dear"
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"m","type":"message","role":"assistant","model":%q,"content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`, model)
	}))
	t.Cleanup(ts.Close)
	h := harness.Open(t, harness.Setup{YAML: harness.DialectYAML("anthropic", ts.URL+"/v1") + "aliases: {cheap: {targets: [house/x], served_model: accept}}\n"})
	limited := h.NewKey(account.KeyOptions{Account: account.DefaultName, Models: []string{"cheap"}})
	ask := caching(harness.Ask{Path: "/v1/messages", Body: `{"model":"cheap","max_tokens":9,"fallbacks":[{"model":"dear"}],"messages":[{"role":"user","content":"Hi"}]}`}, "1h")
	wantCached(t, h, ask, "miss")
	if dear := wantCached(t, h, ask, "hit"); !strings.Contains(dear.Body, "dear") { // control
		t.Errorf("got %s, want the answer of the fallback", dear.Body)
	}
	ask.Key = limited
	if r := wantCached(t, h, ask, "miss"); strings.Contains(r.Body, "dear") {
		t.Errorf("the limited key got %s", r.Body)
	}
}
