package chat_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestLogprobsThroughGateway checks that clients of three APIs receive the log probabilities of providers with other
// wire formats, whole and streamed, and are notified if a provider has none.
func TestLogprobsThroughGateway(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	for _, speaks := range []string{"openai", "responses", "gemini", "anthropic"} {
		h := harness.Open(t, harness.Setup{YAML: strings.Replace(harness.ProvidersYAML(up.URL), "dialect: openai\n", "dialect: "+speaks+"\n", 1)})
		for _, c := range []struct{ path, streamed, body, told, dropped string }{
			{
				"/v1/chat/completions", "", `{"model":"house/chat","messages":[{"role":"user","content":"Hi"}],"logprobs":true,"top_logprobs":2,"stream":?}`,
				`"logprob":-`, "logprobs,top_logprobs",
			},
			{
				"/v1/responses", "", `{"model":"house/chat","input":"Hi","include":["message.output_text.logprobs"],"top_logprobs":2,"stream":?}`,
				`"logprob":-`, "include,top_logprobs",
			},
			{
				"/v1beta/models/house/chat:generateContent", "/v1beta/models/house/chat:streamGenerateContent?alt=sse",
				`{"contents":[{"parts":[{"text":"Hi"}]}],"generationConfig":{"responseLogprobs":true,"logprobs":2}}`,
				`"logProbability":-`, "generationConfig.responseLogprobs,generationConfig.logprobs",
			},
		} {
			for _, stream := range []string{"false", "true"} {
				path := c.path
				if stream == "true" && c.streamed != "" {
					path = c.streamed
				}
				r := h.Do(harness.Ask{Path: path, Body: strings.Replace(c.body, "?", stream, 1)})
				dropped := strings.ReplaceAll(r.Header.Get("X-Weir-Dropped"), " ", "")
				if none := speaks == "anthropic"; r.Status != http.StatusOK || strings.Contains(r.Body, c.told) == none || none != (dropped == c.dropped) ||
					!none && dropped != "" {
					t.Errorf("%s at a provider of %s: status %d, left out %q: %s", path, speaks, r.Status, dropped, r.Body)
				}
			}
		}
	}
}
