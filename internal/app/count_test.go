package app_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestCountTokens asks at each vendor's client API how long a request is: its own
// provider, and one that does not count in its words.
func TestCountTokens(t *testing.T) {
	t.Parallel()
	clientAPIs := map[string]struct{ path, body, answer string }{
		"anthropic": {"/v1/messages/count_tokens", `{"model":"house/chat","messages":[{"role":"user","content":"Say it again, please"}]}`, `{"input_tokens":`},
		"gemini":    {"/v1beta/models/house/chat:countTokens", `{"generateContentRequest":{"model":"models/house/chat","contents":[{"parts":[{"text":"Say it again, please"}]}]}}`, `{"totalTokens":`},
	}
	prefix := map[string]string{"anthropic": "/v1", "gemini": "/v1beta", "cohere": "/v2"}
	for name, clientAPI := range clientAPIs {
		for provider, before := range prefix {
			t.Run(name+" at "+provider, func(t *testing.T) {
				t.Parallel()
				up := newUpstream(t)
				yaml := strings.Replace(dialectYAML(provider, up.url+before), `output: "0.60"`, `output: "0.60", request: "0.01"`, 1)
				h := open(t, setup{yaml: yaml})
				r := h.do(ask{path: clientAPI.path, body: clientAPI.body})
				estimated := r.header.Get("X-Weir-Estimated") == "true"
				if r.status != http.StatusOK || !strings.HasPrefix(r.body, clientAPI.answer) || estimated != (name != provider) {
					t.Errorf("status %d, %s, estimated: %v", r.status, r.body, estimated)
				}
				if n := len(up.records(t)); (n == 1) != (name == provider) {
					t.Errorf("%d requests reached the provider", n)
				}
				if page := h.uses(""); page.Total.Tokens != "0" || page.Total.Cost != "0" {
					t.Errorf("a count was charged: %+v", page.Total)
				}
			})
		}
	}
}
