package meter_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"weir/internal/e2e/harness"
	"weir/internal/ledger"
)

// TestLateAnswerIsBoundedByItsRequest has a provider that does not tell the service tier that the request asks for. The
// cost is bounded by that tier's price, also if the answer is late.
func TestLateAnswerIsBoundedByItsRequest(t *testing.T) {
	t.Parallel()
	const whole = `{"id":"a","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Done."},` +
		`"finish_reason":"stop"}],"usage":{"prompt_tokens":20000,"completion_tokens":1500,"prompt_tokens_details":{"cached_tokens":16000}}}`
	for name, wait := range map[string]time.Duration{"in time": 0, "late": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				time.Sleep(wait)
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, whole)
			}))
			t.Cleanup(ts.Close)
			h := harness.Open(t, harness.Setup{
				YAML: "providers:" + harness.Hasty(harness.SpokenBy("openai", "openai", ts.URL, "/v1"), "1s", "20s"),
			})
			r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"openai/gpt-5-mini","service_tier":"priority",` +
				`"messages":[{"role":"user","content":"Hi"}]}`})
			id := r.Header.Get("X-Request-Id")
			harness.Await(t, "its settlement", func() bool { return len(h.Rows(id)) == 1 })
			if e := h.Entry(t, id); e.Provenance != ledger.Estimated || e.AtMost <= e.Cost || e.Cost == 0 {
				t.Errorf("%s: %s, $%s and at most $%s, want it estimated with a bound above", name, e.Provenance, e.Cost, e.AtMost)
			}
		})
	}
}
