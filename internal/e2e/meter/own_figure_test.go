package meter_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/ledger"
)

// TestOwnFigure checks that the provider's own figure is the cost, higher or lower or zero, in whole answers and in
// streams; that bill_by: computed uses the price instead; and that a key of the customer's own adds the maker's bill.
func TestOwnFigure(t *testing.T) {
	t.Parallel()
	const whole, stream = false, true
	for _, c := range []struct {
		name, usage string // after 30 tokens in and 10 out, at $3 and $11 a million: $0.0002
		stream      bool
		billBy      string
		cost        string
		atMost      string
		provenance  ledger.Provenance
	}{
		{"less", `,"cost":0.00015`, whole, "", "0.00015", "0", ledger.Exact},
		{"less, streamed", `,"cost":0.00015`, stream, "", "0.00015", "0", ledger.Exact},
		{"more", `,"cost":0.5`, whole, "", "0.5", "0", ledger.Exact},
		{"nothing", `,"cost":0,"is_byok":false`, whole, "", "0", "0", ledger.Exact},
		{"as it says in words", `,"cost":0.00015`, whole, "provider", "0.00015", "0", ledger.Exact},
		{"by the price, less", `,"cost":0.00015`, whole, "computed", "0.0002", "0", ledger.Exact},
		{"by the price, more", `,"cost":0.5`, whole, "computed", "0.0002", "0.5", ledger.Assumed},
		{"xAI's ticks", `,"cost_in_usd_ticks":1500000`, whole, "", "0.00015", "0", ledger.Exact},
		{"no ticks, as at Azure", `,"cost_in_usd_ticks":0`, whole, "", "0.0002", "0", ledger.Exact},
		{"a key of the customer's own", `,"cost":0.00001,"is_byok":true,"cost_details":{"upstream_inference_cost":0.0002}`, whole, "", "0.00021", "0", ledger.Exact},
		{"the same without a fee", `,"cost":0,"is_byok":true,"cost_details":{"upstream_inference_cost":0.0002}`, whole, "", "0.0002", "0", ledger.Exact},
		{"the same, of which nobody tells the bill", `,"cost":0,"is_byok":true,"cost_details":{"upstream_inference_cost":null}`, whole, "", "0.0002", "0", ledger.Exact},
		{"a fee beside a bill that nobody tells", `,"cost":0.00001,"is_byok":true,"cost_details":{"upstream_inference_cost":null}`, whole, "", "0.0002", "0.000392", ledger.Assumed},
		{"the same in older replies, which say no is_byok", `,"cost":0.00001,"cost_details":{"upstream_inference_cost":0.0002}`, whole, "", "0.00021", "0", ledger.Exact},
		{"OpenRouter's own key", `,"cost":0.00015,"is_byok":false,"cost_details":{"upstream_inference_cost":0.00015}`, whole, "", "0.00015", "0", ledger.Exact},
		{"nothing told", ``, whole, "", "0.0002", "0", ledger.Exact},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			usage := `"usage":{"prompt_tokens":30,"completion_tokens":10,"total_tokens":40` + c.usage + `}}`
			body := `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],` + usage
			if c.stream {
				body = "data: " + `{"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":null}]}` +
					"\n\ndata: " + `{"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` +
					"\n\ndata: " + `{"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],` + usage + "\n\ndata: [DONE]\n\n"
			}
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", map[bool]string{whole: "application/json", stream: "text/event-stream"}[c.stream])
				_, _ = io.WriteString(w, body)
			}))
			defer up.Close()
			yaml := "providers:" + harness.ProviderYAML("house", up.URL)
			if c.billBy != "" {
				yaml += "    bill_by: " + c.billBy + "\n"
			}
			h := harness.Open(t, harness.Setup{YAML: yaml + "prices:\n  house/*: {input: \"3\", output: \"11\"}\n"})
			r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"house/m","max_tokens":10,"stream":` + strconv.FormatBool(c.stream) +
				`,"messages":[{"role":"user","content":"Hi"}]}`})
			e := h.Entry(t, r.Header.Get("X-Request-Id"))
			if e.Cost.String() != c.cost || e.AtMost.String() != c.atMost || e.Provenance != c.provenance {
				t.Errorf("got $%s, at most $%s, %s; want $%s, at most $%s, %s", e.Cost, e.AtMost, e.Provenance, c.cost, c.atMost, c.provenance)
			}
			if told := e.ProviderCost != nil; told != (c.usage != "" && c.name != "no ticks, as at Azure" && c.name != "the same, of which nobody tells the bill" && c.name != "a fee beside a bill that nobody tells") {
				t.Errorf("the provider's own figure is stored: %t", told)
			}
			h.Verify(t)
		})
	}
}
