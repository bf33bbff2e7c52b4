package meter_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// TestImagesBySize checks the cost of xAI's images by size and quality, under a budget: the request decides, open
// choices have the dearest as their bound, and sizes without a price are refused.
func TestImagesBySize(t *testing.T) {
	t.Parallel()
	const made = `{"created":1,"data":[{"url":"https://imgen.x.ai/1.jpg"},{"url":"https://imgen.x.ai/2.jpg"}]}`
	for _, tt := range []struct {
		model, members, cost, most, hold string
		provenance                       ledger.Provenance
	}{
		{"grok-imagine-image-quality", `,"resolution":"1k"`, "0.1", "0.1", "0.1", ledger.Exact},
		{"grok-imagine-image-quality", `,"resolution":"2k","quality":"high"`, "0.14", "0.14", "0.14", ledger.Exact},
		{"grok-imagine-image-quality", ``, "0.1", "0.14", "0.14", ledger.Estimated},
		{"grok-imagine-image-2.0", `,"resolution":"2k","quality":"medium"`, "0.16", "0.16", "0.16", ledger.Exact},
		{"grok-imagine-image-2.0", `,"resolution":"1k","quality":"low"`, "0.08", "0.08", "0.08", ledger.Exact},
		{"grok-imagine-image-2.0", `,"resolution":"1k","quality":"auto"`, "0.12", "0.12", "0.12", ledger.Estimated},
		{"grok-imagine-image-2.0", `,"resolution":"4k","quality":"low"`, "", "", "", ""},
		{"grok-imagine-image", `,"resolution":"2k"`, "0.04", "0.04", "0.04", ledger.Exact},
	} {
		h := openVendor(t, "xai", "openai", "application/json", http.StatusOK, made)
		h.SetBudget(llm.USD/2, budget.PeriodTotal)
		r := h.Do(harness.Ask{Path: "/v1/images/generations", Body: `{"model":"xai/` + tt.model + `","prompt":"A weir","n":2` + tt.members + `}`})
		if tt.cost == "" {
			if r.Status != http.StatusForbidden || !strings.Contains(r.Body, "image is unknown") {
				t.Errorf("%s%s: got status %d, want it refused: %s", tt.model, tt.members, r.Status, r.Body)
			}
			continue
		}
		row := h.Entry(t, r.Header.Get("X-Request-Id"))
		if row.Cost.String() != tt.cost || row.Charged().String() != tt.most || row.Hold.String() != tt.hold ||
			row.Provenance != tt.provenance || row.Unpriced != 0 {
			t.Errorf("%s%s: got %+v of a hold of $%s, want $%s, at most $%s, %s of $%s: %s",
				tt.model, tt.members, row.Settlement, row.Hold, tt.cost, tt.most, tt.provenance, tt.hold, r.Body)
		}
		h.Verify(t)
	}
}

// TestContainersUnderBudget checks the cost of OpenAI's code interpreter under a budget: one session of its container
// is the estimate, and the longest possible life of one is the bound. Unbounded requests are refused.
func TestContainersUnderBudget(t *testing.T) {
	t.Parallel()
	const call = `{"type":"code_interpreter_call","id":"ci_1","status":"completed","container_id":"cntr_1","code":"1"},`
	answer := func(container, calls string) string {
		return `{"id":"r","object":"response","created_at":1,"status":"completed","model":"gpt-4.1","output":[` + calls +
			`{"id":"m","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"text":"4"}]}],` +
			`"tools":[{"type":"code_interpreter","container":` + container + `}],"usage":{"input_tokens":700,"output_tokens":120,"total_tokens":820}}`
	}
	for _, tt := range []struct {
		name, container, calls, cost, most string
	}{
		{"1 GB", `{"type":"auto"}`, call, "0.03236", "0.06236"},
		{"4 GB, two calls in one", `{"type":"auto","memory_limit":"4g"}`, call + call, "0.12236", "0.24236"},
		{"none that shows", `{"type":"auto"}`, "", "0.00236", "0.06236"},
		{"one that was made before", `"cntr_1"`, call, "", ""},
		{"of a size that the page does not have", `{"type":"auto","memory_limit":"2g"}`, call, "", ""},
	} {
		h := openVendor(t, "openai", "responses", "application/json", http.StatusOK, answer(tt.container, tt.calls))
		h.SetBudget(60*llm.USD, budget.PeriodTotal)
		r := h.Do(harness.Ask{Path: "/v1/responses", Body: `{"model":"openai/gpt-4.1","input":"Hi","max_output_tokens":200,"max_tool_calls":2,` +
			`"tools":[{"type":"code_interpreter","container":` + tt.container + `}]}`})
		if tt.cost == "" {
			if r.Status != http.StatusForbidden || !strings.Contains(r.Body, "for code_interpreter is unknown") {
				t.Errorf("%s: got status %d, want it refused: %s", tt.name, r.Status, r.Body)
			}
			continue
		}
		row := h.Entry(t, r.Header.Get("X-Request-Id"))
		if row.Cost.String() != tt.cost || row.AtMost.String() != tt.most || row.Provenance != ledger.Estimated || row.Unpriced != 0 || row.Hold < row.AtMost {
			t.Errorf("%s: got %+v of a hold of $%s, want $%s, at most $%s: %s", tt.name, row.Settlement, row.Hold, tt.cost, tt.most, r.Body)
		}
		h.Verify(t)
	}
}
