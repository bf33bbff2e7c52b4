package budget_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
	"weir/internal/must"
)

// TestFreePriceWithChargeNeedsRoom checks that a model that is free only by its price, and not by its provider's
// charge, needs room in a budget like others: from the beginning if the price is from another's list, otherwise once
// the provider has reported a charge.
func TestFreePriceWithChargeNeedsRoom(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, prices string
		assumed      bool
	}{
		{"the operator's price", "prices:\n  house/m: {input: \"0\", output: \"0\"}\n", false},
		{"another's list", "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},`+
					`"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4,"cost":0.4}}`)
			}))
			defer up.Close()
			yaml := "providers:" + harness.ProviderYAML("house", up.URL) + tt.prices
			if tt.assumed {
				path := filepath.Join(t.TempDir(), "list.json")
				must.Do(t, os.WriteFile(path, []byte(`{"assumed":true,"entries":[{"provider":"house","models":["m"],"adds":{"equals":"m"},"rates":{"input_mtok":"0","output_mtok":"0"},"source":"x"}]}`), 0o600))
				yaml += "prices_file: " + path + "\n"
			}
			h := harness.Open(t, harness.Setup{YAML: yaml})
			h.SetBudget(llm.USD, budget.PeriodTotal)
			served := 0
			for range 10 {
				if h.Chat("house/m").Status == http.StatusOK {
					served++
				}
			}
			if served != 3 {
				t.Errorf("served: got %d of 10 requests at $0.40 with a budget of $1, want 3", served)
			}
			must.Do(t, h.Stop())
			h.Verify(t)
		})
	}
}
