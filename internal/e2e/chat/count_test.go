package chat_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestCountTokens counts the tokens of a request at each vendor's client API: with its own provider, and with one that
// does not count in its wire format.
func TestCountTokens(t *testing.T) {
	t.Parallel()
	clientAPIs := map[string]struct{ path, body, answer string }{
		"anthropic": {"/v1/messages/count_tokens", `{"model":"house/chat","messages":[{"role":"user","content":"Say it again, please"}]}`, `{"input_tokens":`},
		"responses": {"/v1/responses/input_tokens", `{"model":"house/chat","input":"Say it again, please"}`, `{"object":"response.input_tokens","input_tokens":`},
		"gemini":    {"/v1beta/models/house/chat:countTokens", `{"generateContentRequest":{"model":"models/house/chat","contents":[{"parts":[{"text":"Say it again, please"}]}]}}`, `{"totalTokens":`},
	}
	prefix := map[string]string{"anthropic": "/v1", "gemini": "/v1beta", "cohere": "/v2", "responses": "/v1"}
	for name, clientAPI := range clientAPIs {
		for provider, before := range prefix {
			t.Run(name+" at "+provider, func(t *testing.T) {
				t.Parallel()
				up := harness.NewUpstream(t)
				yaml := strings.Replace(harness.DialectYAML(provider, up.URL+before), `output: "0.60"`, `output: "0.60", request: "0.01"`, 1)
				h := harness.Open(t, harness.Setup{YAML: yaml})
				r := h.Do(harness.Ask{Path: clientAPI.path, Body: clientAPI.body})
				estimated := r.Header.Get("X-Weir-Estimated") == "true"
				if r.Status != http.StatusOK || !strings.HasPrefix(r.Body, clientAPI.answer) || estimated != (name != provider) {
					t.Errorf("status %d, %s, estimated: %v", r.Status, r.Body, estimated)
				}
				if n := len(up.Records(t)); (n == 1) != (name == provider) {
					t.Errorf("%d requests reached the provider", n)
				}
				if page := h.Uses(""); page.Total.Tokens != "0" || page.Total.Cost != "0" {
					t.Errorf("a count was charged: %+v", page.Total)
				}
			})
		}
	}
}
