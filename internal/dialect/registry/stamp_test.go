package registry_test

import (
	"testing"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
)

// finals returns ends of answers, by their reported values.
func finals() map[string]*llm.Final {
	cost := llm.Money(300_000_000)
	return map[string]*llm.Final{
		"priced":   {Cost: &cost, Attempts: 1},
		"attempts": {Cost: &cost, Attempts: 2, Models: []string{"a/x", "b/y"}},
		"unpriced": {Attempts: 1},
	}
}

// TestStampAddsCostToUsage checks that the cost is added to the object with the usage, and the attempts next to it.
func TestStampAddsCostToUsage(t *testing.T) {
	t.Parallel()
	const attempts = `"weir":{"attempts":2,"models":["a/x","b/y"]}`
	stamps := map[string]func(dst, in []byte, f *llm.Final) []byte{}
	for _, d := range registrytest.All() {
		stamps[d.Name] = d.Stamp
	}
	for _, tt := range []struct{ dialect, final, in, want string }{
		{"openai", "priced", `{"a":[{"usage":{}}], "usage" : {"prompt_tokens":1} }`, `{"a":[{"usage":{}}], "usage" : {"cost":0.3,"prompt_tokens":1} }`},
		{"openai", "priced", `{"usage":{}}`, `{"usage":{"cost":0.3}}`},
		{"openai", "priced", `{"usage":{"cost": {"x":1},"prompt_tokens":1}}`, `{"usage":{"cost": {"x":1},"prompt_tokens":1},"weir":{"cost_usd":"0.3"}}`},
		{"openai", "priced", `{"usage":null}`, `{"usage":null}`},
		{"openai", "priced", `{"id":"x"}`, `{"id":"x"}`},
		{"openai", "priced", `[DONE]`, `[DONE]`},
		{"openai", "unpriced", `{"usage":{}}`, `{"usage":{}}`},
		{"openai", "attempts", `{"usage":{},"id":1 }`, `{"usage":{"cost":0.3},"id":1,` + attempts + ` }`},

		{"responses", "attempts", `{"usage":{"input_tokens":1}}`, `{"usage":{"cost":0.3,"input_tokens":1},` + attempts + `}`},
		{"responses", "attempts", `{"type":"response.completed","response":{"usage":{}} ,"sequence_number":4}`, `{"type":"response.completed","response":{"usage":{"cost":0.3},` + attempts + `} ,"sequence_number":4}`},
		{"responses", "attempts", `{"response":{"usage":null}}`, `{"response":{"usage":null}}`},
		{"responses", "attempts", `{"delta":"x"}`, `{"delta":"x"}`},
		{"responses", "attempts", `[DONE]`, `[DONE]`},
		{"responses", "unpriced", `{"usage":{}}`, `{"usage":{}}`},

		{"anthropic", "attempts", `{"id":"x","usage":{"input_tokens":1}}`, `{"id":"x","usage":{"cost":0.3,"input_tokens":1},` + attempts + `}`},
		{"anthropic", "attempts", `{"type":"message_delta","usage":{"output_tokens":1} }`, `{"type":"message_delta","usage":{"cost":0.3,"output_tokens":1},` + attempts + ` }`},
		{"anthropic", "attempts", `{"type":"message_start","message":{"usage":{}}}`, `{"type":"message_start","message":{"usage":{}}}`},
		{"anthropic", "unpriced", `{"usage":{}}`, `{"usage":{}}`},
		{"anthropic", "attempts", `x`, `x`},

		{"gemini", "priced", `{"candidates":[{"usageMetadata":{}}], "usageMetadata" : {"promptTokenCount":1} }`, `{"candidates":[{"usageMetadata":{}}], "usageMetadata" : {"cost":0.3,"promptTokenCount":1} }`},
		{"gemini", "priced", `{"usageMetadata":null}`, `{"usageMetadata":null}`},
		{"gemini", "priced", `{"responseId":"x"}`, `{"responseId":"x"}`},
		{"gemini", "unpriced", `{"usageMetadata":{}}`, `{"usageMetadata":{}}`},
		{"gemini", "attempts", `{"usageMetadata":{},"responseId":1 }`, `{"usageMetadata":{"cost":0.3},"responseId":1,` + attempts + ` }`},

		{"bedrock", "attempts", `{"stopReason":"end_turn"}`, `{"stopReason":"end_turn"}`},
		{"bedrock", "unpriced", `{"usage":{"inputTokens":1}}`, `{"usage":{"inputTokens":1}}`},
		{"bedrock", "priced", `{"usage": {"inputTokens":1} ,"metrics":{}}`, `{"usage": {"cost":0.3,"inputTokens":1} ,"metrics":{}}`},
		{"bedrock", "attempts", `{"usage":{},"metrics":{}}`, `{"usage":{"cost":0.3},"metrics":{},` + attempts + `}`},

		{"cohere", "priced", `{"id":"a","usage" : {"tokens":{}} }`, `{"id":"a","usage" : {"cost":0.3,"tokens":{}} }`},
		{"cohere", "priced", `{"type":"message-end","delta": {"finish_reason":"COMPLETE", "usage":{}},"id":1}`, `{"type":"message-end","delta": {"finish_reason":"COMPLETE", "usage":{"cost":0.3}},"id":1}`},
		{"cohere", "priced", `{"usage":{"cost": {"x":1}}}`, `{"usage":{"cost": {"x":1}},"weir":{"cost_usd":"0.3"}}`},
		{"cohere", "priced", `{"usage":null}`, `{"usage":null}`},
		{"cohere", "priced", `{"delta":{"x":1}}`, `{"delta":{"x":1}}`},
		{"cohere", "priced", `[DONE]`, `[DONE]`},
		{"cohere", "unpriced", `{"usage":{}}`, `{"usage":{}}`},
		{"cohere", "attempts", `{"delta":{"usage":{}} }`, `{"delta":{"usage":{"cost":0.3}},` + attempts + ` }`},

		{"ollama", "priced", `{"done":true,"eval_count":1 }`, `{"done":true,"eval_count":1,"cost":0.3 }`},
		{"ollama", "priced", `{"cost": {"x":1}, "prompt_eval_count":1}`, `{"cost": {"x":1}, "prompt_eval_count":1,"weir":{"cost_usd":"0.3"}}`},
		{"ollama", "priced", `{"done":true}`, `{"done":true}`},
		{"ollama", "unpriced", `{"eval_count":1}`, `{"eval_count":1}`},
		{"ollama", "priced", `x`, `x`},
		{"ollama", "attempts", `{"eval_count":1}`, `{"eval_count":1,"cost":0.3,` + attempts + `}`},
	} {
		if got := string(stamps[tt.dialect]([]byte(">"), []byte(tt.in), finals()[tt.final])); got != ">"+tt.want {
			t.Errorf("%s, %s, %s: got %s, want %s", tt.dialect, tt.final, tt.in, got, tt.want)
		}
	}
}

// TestPathOfEachWireFormat checks the path of requests to a model, for wire formats without the model in their path.
func TestPathOfEachWireFormat(t *testing.T) {
	t.Parallel()
	want := map[string]string{"openai": "/chat/completions", "responses": "/responses", "anthropic": "/messages", "cohere": "/chat", "ollama": "/api/chat"}
	for _, d := range registrytest.All() {
		if path := want[d.Name]; path != "" && d.Path("m", true) != path {
			t.Errorf("%s: got %q, want %q", d.Name, d.Path("m", true), path)
		}
	}
}
