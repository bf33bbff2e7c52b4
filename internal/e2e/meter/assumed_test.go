package meter_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// anyModel starts a provider that has every model and always reports 100 tokens in and 10 out. It returns its address.
func anyModel(t *testing.T) string {
	t.Helper()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"id":"x","object":"chat.completion","created":1,"choices":[{"index":0,"message":{"role":"assistant","content":"Hi."},` +
			`"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110}}`))
	}))
	t.Cleanup(up.Close)
	return up.URL
}

// TestAssumedPrices checks the prices that are not of exactly the requested model: Azure's gpt-5-mini, with OpenAI's
// price, o3 in its own list, which costs more in a deployment of another type, and gpt-5-nano-turbo, which only has a
// name like that of a known model.
func TestAssumedPrices(t *testing.T) {
	t.Parallel()
	const seller, family, own = "azure/gpt-5-mini", "azure/gpt-5-nano-turbo", "groq/llama-3.1-8b-instant"
	type want struct {
		model      string
		status     int
		message    string
		provenance string // of the row; empty for no row
		priced     bool
	}
	const listed = "azure/o3"
	tests := []struct {
		policy string
		budget bool
		wants  []want
	}{
		{"accept", false, []want{{seller, 200, "", "assumed", true}, {listed, 200, "", "assumed", true}, {family, 200, "", "assumed", true}, {own, 200, "", "exact", true}}},
		{"accept", true, []want{{seller, 200, "", "assumed", true}, {listed, 200, "", "assumed", true}, {family, 403, "under prices", "", false}}},
		{"refuse", false, []want{{seller, 403, "pricing.assumed", "", false}, {listed, 403, "pricing.assumed", "", false}, {family, 403, "under prices", "", false}, {own, 200, "", "exact", true}}},
		{"refuse", true, []want{{seller, 403, "pricing.assumed", "", false}, {own, 200, "", "exact", true}}},
		{"unpriced", false, []want{{seller, 200, "", "exact", false}, {listed, 200, "", "exact", false}, {family, 200, "", "exact", false}, {own, 200, "", "exact", true}}},
		{"unpriced", true, []want{{seller, 403, "pricing.assumed", "", false}, {family, 403, "pricing.assumed", "", false}, {own, 200, "", "exact", true}}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s, budget %t", tt.policy, tt.budget), func(t *testing.T) {
			t.Parallel()
			h := harness.Open(t, harness.Setup{YAML: "pricing: {assumed: " + tt.policy + "}\nproviders:" +
				harness.ProviderYAML("azure", anyModel(t)) + harness.ProviderYAML("groq", anyModel(t))})
			if tt.budget {
				h.SetBudget(100*llm.USD, budget.PeriodTotal)
			}
			for _, w := range tt.wants {
				r := h.Chat(w.model)
				if r.Status != w.status || !strings.Contains(r.Body, w.message) {
					t.Errorf("%s: got %d %s, want %d with %q", w.model, r.Status, r.Body, w.status, w.message)
					continue
				}
				if got := r.Header.Get("X-Weir-Cost-USD") != ""; got != w.priced {
					t.Errorf("%s: got a cost: %t, want %t", w.model, got, w.priced)
				}
				if w.status != 200 {
					continue
				}
				if e := h.Entry(t, r.Header.Get("X-Request-Id")); (e.AtMost > e.Cost) != (w.provenance == "assumed") || w.model == seller && w.priced && e.AtMost != e.Cost*3/2 {
					t.Errorf("%s: got $%s, at most $%s, %s; want a bound above an assumed price, half on top of another seller's", w.model, e.Cost, e.AtMost, w.provenance)
				}
				if got := h.Row(r.Header.Get("X-Request-Id")); got.Provenance != w.provenance || (got.Cost != "0") != w.priced {
					t.Errorf("%s: got %s at $%s, want %s, priced: %t", w.model, got.Provenance, got.Cost, w.provenance, w.priced)
				}
			}
		})
	}
}

// TestRefusedAssumedPriceFallsBack checks that a target whose assumed price is refused is skipped.
func TestRefusedAssumedPriceFallsBack(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: "pricing: {assumed: refuse}\naliases: {any: {targets: [azure/gpt-5-mini, groq/llama-3.1-8b-instant]}}\nproviders:" +
		harness.ProviderYAML("azure", anyModel(t)) + harness.ProviderYAML("groq", anyModel(t))})
	if r := h.Chat("any"); r.Status != http.StatusOK || r.Header.Get("X-Weir-Model") != "groq/llama-3.1-8b-instant" {
		t.Errorf("got %d by %q: %s, want 200 by groq", r.Status, r.Header.Get("X-Weir-Model"), r.Body)
	}
}

// TestAssumedPriceHasItsBound checks that the row of an attempt at Azure has the highest cost of the same model in a
// deployment of another type as its bound, and that a budget counts that bound.
func TestAssumedPriceHasItsBound(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("azure", anyModel(t)) + harness.ProviderYAML("groq", anyModel(t))})
	h.SetBudget(100*llm.USD, budget.PeriodTotal)
	for _, tt := range []struct {
		model      string
		provenance ledger.Provenance
		cost, most string
	}{
		{"azure/o3", ledger.Assumed, "0.00028", "0.0003136"},    // 0.000308 in a Data Zone
		{"azure/gpt-4.1", ledger.Assumed, "0.00028", "0.00042"}, // OpenAI's price: Azure's own is unknown
		{"groq/llama-3.1-8b-instant", ledger.Exact, "0.0000058", "0"},
	} {
		r := h.Chat(tt.model)
		e := h.Entry(t, r.Header.Get("X-Request-Id"))
		if e.Provenance != tt.provenance || e.Cost.String() != tt.cost || e.AtMost.String() != tt.most {
			t.Errorf("%s: got %s, %s, %s at most, want %s, %s, %s", tt.model, e.Provenance, e.Cost, e.AtMost, tt.provenance,
				tt.cost, tt.most)
		}
		if e.Hold < e.MostCost() {
			t.Errorf("%s: got a hold of %s below the bound of %s", tt.model, e.Hold, e.MostCost())
		}
	}
}
