package simulator_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/must"
	"weir/internal/rawjson"
	"weir/internal/simulator"
)

// TestCountsAreTrue checks that each count of a chat's tokens equals the chat's charge, and that counts are free.
func TestCountsAreTrue(t *testing.T) {
	t.Parallel()
	s := simulator.New(simulator.Options{Dialects: registrytest.All(), Seed: 1})
	t.Cleanup(s.Close)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	post := func(path, body string) []byte {
		resp := must.Get(http.Post(server.URL+path, "application/json", strings.NewReader(body)))(t)
		defer resp.Body.Close()
		text := must.Get(io.ReadAll(resp.Body))(t)
		if resp.StatusCode != 200 {
			t.Errorf("%s: %d %s", path, resp.StatusCode, text)
		}
		return bytes.TrimSpace(text)
	}
	const text = "Say what came down the river, and when it came there."
	openai := `{"model":"chat","max_tokens":9,"messages":[{"role":"user","content":"` + text + `"}]}`
	response := `{"model":"chat","input":"` + text + `"}`
	converse := `{"messages":[{"role":"user","content":[{"text":"` + text + `"}]}]}`
	gemini := `{"contents":[{"role":"user","parts":[{"text":"` + text + `"}]}]}`
	for _, tt := range []struct{ chat, body, usage, count, question, member string }{
		{"/v1/chat/completions", openai, "usage.prompt_tokens", "/v1/chat/completions/input_tokens", openai, "input_tokens"},
		{"/v1/chat/completions", openai, "usage.prompt_tokens", "/tokenize", openai, "count"},
		{"/v1/responses", response, "usage.input_tokens", "/v1/responses/input_tokens", response, "input_tokens"},
		{"/v1/messages", openai, "usage.input_tokens", "/v1/messages/count_tokens", openai, "input_tokens"},
		{"/model/chat/converse", converse, "usage.inputTokens", "/model/chat/count-tokens", `{"input":{"converse":` + converse + `}}`, "inputTokens"},
		{
			"/v1beta/models/chat:generateContent", gemini, "usageMetadata.promptTokenCount",
			"/v1beta/models/chat:countTokens", `{"generateContentRequest":{"model":"models/chat",` + gemini[1:] + `}`, "totalTokens",
		},
	} {
		charged := rawjson.Get(post(tt.chat, tt.body), strings.Split(tt.usage, ".")...)
		before := s.Ledger().Totals()
		counted := rawjson.Get(post(tt.count, tt.question), tt.member)
		if string(counted) != string(charged) || len(counted) == 0 {
			t.Errorf("%s: counted %q, charged for %q", tt.count, counted, charged)
		}
		if after := s.Ledger().Totals(); after.Usage != before.Usage {
			t.Errorf("%s: a count is charged for: %+v, before %+v", tt.count, after.Usage, before.Usage)
		}
	}
}
