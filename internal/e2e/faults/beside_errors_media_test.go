package faults_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestErrorsWithVectorsOrImagesAreCharged checks that answers of operations other than chat also cost something if they
// have an error and a result.
func TestErrorsWithVectorsOrImagesAreCharged(t *testing.T) {
	t.Parallel()
	const embed, image = "/v1/embeddings", "/v1/images/generations"
	cases := []struct{ dialect, path, body string }{
		{"openai", embed, `{"error":{"message":"no"},"data":[{"index":0,"embedding":[1,2]}],"model":"m"}`},
		{"gemini", embed, `{"error":{"message":"no"},"embeddings":[{"values":[1,2]}]}`},
		{"cohere", embed, `{"error":"no","embeddings":{"float":[[1,2]]}}`},
		{"ollama", embed, `{"error":"no","embeddings":[[1,2]]}`},
		{"bedrock", embed, `{"error":"no","embedding":[1,2]}`},
		{"openai", image, `{"error":{"message":"no"},"data":[{"b64_json":"AAAA"}]}`},
	}
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := range cases {
			if strings.HasPrefix(r.URL.Path, fmt.Sprintf("/case-%d/", i)) {
				_, _ = w.Write([]byte(cases[i].body))
			}
		}
	}))
	t.Cleanup(ts.Close)
	var providers, prices strings.Builder
	for i, tt := range cases {
		fmt.Fprintf(&providers, "  house%d: {dialect: %s, base_url: %q, allow_private: true, api_keys: [one], retries: 0}\n", i, tt.dialect, fmt.Sprintf("%s/case-%d/v1", ts.URL, i))
		fmt.Fprintf(&prices, "  house%d/*: {input: \"1\", image: \"0.04\"}\n", i)
	}
	h := harness.Open(t, harness.Setup{YAML: "providers:\n" + providers.String() + "prices:\n" + prices.String()})
	for i, tt := range cases {
		ask := fmt.Sprintf(`{"model":"house%d/m","input":"Hello there"}`, i)
		if tt.path == image {
			ask = fmt.Sprintf(`{"model":"house%d/m","prompt":"Hello there"}`, i)
		}
		r := h.Do(harness.Ask{Path: tt.path, Body: ask})
		if row := h.Row(r.Header.Get("X-Request-Id")); row.Cost == "0" || row.Outcome == "rejected" {
			t.Errorf("%s, %s: got %d %s, and a row that is %s %s at %s; want one that costs something", tt.dialect, tt.path, r.Status, r.Body, row.Outcome, row.Provenance, row.Cost)
		}
	}
}
