package dialect_test

import (
	"strings"
	"testing"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
)

// TestFinishReasonsOfFailures checks which finish reasons report a failure.
func TestFinishReasonsOfFailures(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{
		"openai":    `{"id":"1","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"WORD"}]}`,
		"anthropic": `{"id":"1","type":"message","role":"assistant","content":[{"type":"text","text":"Hi"}],"stop_reason":"WORD","usage":{"input_tokens":1,"output_tokens":1}}`,
		"gemini":    `{"candidates":[{"content":{"parts":[{"text":"Hi"}],"role":"model"},"finishReason":"WORD"}]}`,
		"cohere":    `{"id":"1","message":{"role":"assistant","content":[{"type":"text","text":"Hi"}]},"finish_reason":"WORD"}`,
		"bedrock":   `{"output":{"message":{"role":"assistant","content":[{"text":"Hi"}]}},"stopReason":"WORD","usage":{"inputTokens":1,"outputTokens":1}}`,
		"ollama":    `{"model":"m","message":{"role":"assistant","content":"Hi"},"done":true,"done_reason":"WORD"}`,
	}
	words := map[string]struct{ failures, others string }{
		"openai": {
			"error insufficient_system_resource network_error abort aborted timeout cancelled canceled time_limit ERROR function_call_filter:·MALFORMED_FUNCTION_CALL",
			"stop length tool_calls content_filter function_call eos_token end_turn model_length repetition STOP",
		},
		"anthropic": {"error network_error", "end_turn max_tokens stop_sequence tool_use pause_turn refusal model_context_window_exceeded"},
		"gemini": {
			"OTHER MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS MISSING_THOUGHT_SIGNATURE MALFORMED_RESPONSE NO_IMAGE IMAGE_OTHER",
			"STOP MAX_TOKENS SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION",
		},
		"cohere":  {"ERROR TIMEOUT USER_CANCEL", "COMPLETE STOP_SEQUENCE MAX_TOKENS TOOL_CALL ERROR_TOXIC ERROR_LIMIT"},
		"bedrock": {"malformed_model_output malformed_tool_use", "end_turn tool_use max_tokens stop_sequence guardrail_intervened content_filtered model_context_window_exceeded"},
		"ollama":  {"error", "stop length load unload"},
	}
	for _, d := range registrytest.All() {
		for _, failure := range []bool{true, false} {
			list := words[d.Name].others
			if failure {
				list = words[d.Name].failures
			}
			for word := range strings.FieldsSeq(list) {
				word = strings.ReplaceAll(word, "·", " ")
				r, err := d.DecodeReply([]byte(strings.ReplaceAll(bodies[d.Name], "WORD", word)), &llm.Quirks{})
				if err != nil {
					t.Errorf("%s %s: %v", d.Name, word, err)
				} else if got := r.Choices[0].Finish; (got == llm.FinishError) != failure {
					t.Errorf("%s %s: got %q, want a failure %v", d.Name, word, got, failure)
				}
			}
		}
	}
}
