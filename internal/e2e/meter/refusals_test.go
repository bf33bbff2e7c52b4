package meter_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// answering starts a provider that answers every request with the same.
func answering(t *testing.T, status int, body string) *httptest.Server {
	t.Helper()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(up.Close)
	return up
}

// TestRefusalsThatCost checks the possible charge of a provider that charges for some error statuses, also in budgets;
// refusals of others are free.
func TestRefusalsThatCost(t *testing.T) {
	t.Parallel()
	fault := func(code string) string {
		return fmt.Sprintf(`{"error":{"message":"No.","type":null,"param":"prompt","code":%q}}`, code)
	}
	const output = 100 * 1000 * llm.Money(1000) // the cap at the price
	for _, c := range []struct {
		name, provider, body string
		status               int
		charged, output      bool
	}{
		{"filter", "azure", fault("content_filter"), 400, true, true},
		{"input limit", "azure", fault("context_length_exceeded"), 400, true, false},
		{"timeout", "azure", fault("timeout"), 408, true, true},
		{"mistake", "azure", fault("invalid_request_error"), 400, false, false},
		{"rate limit", "azure", fault("429"), 429, false, false},
		{"other provider", "house", fault("content_filter"), 400, false, false},
	} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stream %t", c.name, stream), func(t *testing.T) {
				t.Parallel()
				up := answering(t, c.status, c.body)
				yaml := "providers:" + harness.ProviderYAML(c.provider, up.URL)
				h := harness.Open(t, harness.Setup{YAML: yaml + fmt.Sprintf("prices:\n  %s/*: {input: \"10\", output: \"1000\"}\n", c.provider)})
				h.SetBudget(llm.USD, budget.PeriodTotal)
				r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: fmt.Sprintf(`{"model":"%s/m","stream":%t,"max_tokens":100,"messages":[{"role":"user","content":"Hi"}]}`, c.provider, stream)})
				e := h.Entry(t, r.Header.Get("X-Request-Id"))
				switch charged := e.Charged(); {
				case e.Outcome != ledger.OutcomeRejected || e.Status != c.status:
					t.Errorf("got %s with status %d", e.Outcome, e.Status)
				case !c.charged && (e.Provenance != ledger.Exact || charged != 0):
					t.Errorf("got %s, $%s; want exactly nothing", e.Provenance, charged)
				case c.charged && (e.Provenance != ledger.Estimated || e.Cost == 0 || e.AtMost <= e.Cost || e.Usage.OutputTokens() != 0):
					t.Errorf("got %s, $%s, at most $%s, of %v; want an estimate of the input below a bound", e.Provenance, e.Cost, e.AtMost, e.Usage)
				case c.charged && c.output != (charged > output):
					t.Errorf("at most $%s, want output in it: %t", charged, c.output)
				}
				if !c.charged {
					return
				}
				for i := 0; i < 300 && r.Status != http.StatusTooManyRequests; i++ { // until the budget is used up
					r = h.Do(harness.Ask{Path: "/v1/chat/completions", Body: fmt.Sprintf(`{"model":"%s/m","max_tokens":100,"messages":[{"role":"user","content":"%s"}]}`, c.provider, strings.Repeat("Hi ", 300))})
				}
				if r.Status != http.StatusTooManyRequests {
					t.Errorf("the budget does not count what such requests may cost: status %d", r.Status)
				}
			})
		}
	}
}

// TestFailuresWithOutputAreEstimated checks that a whole answer of Responses that failed after some output is booked
// like its stream: estimated, with a bound and the tools that ran.
func TestFailuresWithOutputAreEstimated(t *testing.T) {
	t.Parallel()
	const failed = `{"id":"r","object":"response","status":"failed","error":{"code":"server_error","message":"No."},"output":[%s]%s}`
	for _, c := range []struct {
		name, output, rest string
		out, searches      int64
		provenance         ledger.Provenance
	}{
		{"a message", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"one two three four five"}]}`, "", 5, 0, ledger.Estimated},
		{"a search", `{"type":"web_search_call","id":"w","status":"completed","action":{"type":"search","query":"x"}}`, "", 0, 1, ledger.Estimated},
		{"nothing", "", "", 0, 0, ledger.Exact},
		{"usage", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"one two"}]}`, `,"usage":{"input_tokens":9,"output_tokens":2,"total_tokens":11}`, 2, 0, ledger.Exact},
	} {
		up := answering(t, http.StatusOK, fmt.Sprintf(failed, c.output, c.rest))
		yaml := strings.Replace(harness.ProviderYAML("house", up.URL), "dialect: openai", "dialect: responses", 1)
		h := harness.Open(t, harness.Setup{YAML: "providers:" + yaml + "prices:\n  house/*: {input: \"10\", output: \"1000\"}\n"})
		r := h.Do(harness.Ask{Path: "/v1/responses", Body: `{"model":"house/m","max_output_tokens":50,"input":"Hi"}`})
		e := h.Entry(t, r.Header.Get("X-Request-Id"))
		if e.Provenance != c.provenance || e.Usage[llm.Output] != c.out || e.Usage[llm.Searches] != c.searches || (e.AtMost > e.Cost) != (c.provenance == ledger.Estimated) {
			t.Errorf("%s: %s, %s, $%s, at most $%s, of %v\n%s", c.name, e.Outcome, e.Provenance, e.Cost, e.AtMost, e.Usage, r.Body)
		}
	}
}
