package dialect_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"weir/internal/llm"
)

// bedrockFamily excludes the exchanges of InvokeModel, because their bodies are in the models' own formats.
func bedrockFamily() family {
	return family{
		dialect: "bedrock",
		is: func(url string) bool {
			return strings.HasSuffix(url, "/converse") || strings.HasSuffix(url, "/converse-stream")
		},
		expect:   expectBedrock,
		normal:   normalBedrock,
		searches: searchesOfBedrock,
	}
}

// searchesOfBedrock counts the calls of the provider's own search. Each has its name once.
func searchesOfBedrock(_ *testing.T, response []byte) int64 {
	return int64(bytes.Count(response, []byte(`"name":"nova_grounding"`)))
}

func expectBedrock(t *testing.T, want *answer, expected []byte) {
	t.Helper()
	var e struct {
		Finish string `json:"finish_reason"`
		Usage  *struct {
			Input      int64 `json:"inputTokens"`
			Output     int64 `json:"outputTokens"`
			Total      int64 `json:"totalTokens"`
			CacheRead  int64 `json:"cacheReadInputTokens"`
			CacheWrite int64 `json:"cacheWriteInputTokens"`
		}
	}
	if err := json.Unmarshal(expected, &e); err != nil {
		t.Fatal(err)
	}
	want.Finish = map[string]llm.FinishReason{
		"end_turn": llm.FinishStop, "stop_sequence": llm.FinishStop, "tool_use": llm.FinishToolCalls,
		"max_tokens": llm.FinishLength, "model_context_window_exceeded": llm.FinishLength,
		"guardrail_intervened": llm.FinishContentFilter, "content_filtered": llm.FinishContentFilter,
		"malformed_model_output": llm.FinishError, "malformed_tool_use": llm.FinishError,
	}[e.Finish]
	isOwn := func(c llm.ToolCall) bool { return c.Name == "nova_grounding" }
	if want.Calls = slices.DeleteFunc(want.Calls, isOwn); len(want.Calls) == 0 { // the provider ran them
		want.Calls = nil
	}
	for i := range want.Calls {
		if want.Calls[i].Arguments == "" { // the SDK leaves it to its caller to interpret no pieces
			want.Calls[i].Arguments = "{}"
		}
	}
	if e.Usage == nil {
		return
	}
	want.Usage = &llm.Usage{
		llm.Input: e.Usage.Input, llm.CacheRead: e.Usage.CacheRead, llm.CacheWrite: e.Usage.CacheWrite, llm.Output: e.Usage.Output,
	}
	if got := want.Usage.TotalTokens(); got != e.Usage.Total {
		t.Errorf("the classes add up to %d, and the provider to %d", got, e.Usage.Total)
	}
}

// normalBedrock removes empty configuration objects from a request.
func normalBedrock(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(v, func(_ string, member any) bool {
		object, ok := member.(map[string]any)
		return ok && len(object) == 0
	})
	return v
}
