package dialect_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"weir/internal/llm"
)

func cohereFamily() family {
	return family{
		dialect: "cohere",
		is: func(url string) bool {
			return strings.Contains(url, "api.cohere.") && strings.HasSuffix(url, "/v2/chat")
		},
		expect: expectCohere,
		normal: normalCohere,
	}
}

// expectCohere expects the billed usage, not the usage of the model: see usage.go of the dialect. The official SDK
// separates the tool plan, which is thinking.
func expectCohere(t *testing.T, want *answer, expected []byte) {
	t.Helper()
	var e struct {
		Finish string `json:"finish_reason"`
		Plan   string `json:"tool_plan"`
		Usage  *struct {
			Billed struct{ InputTokens, OutputTokens, SearchUnits int64 } `json:"billedUnits"`
			Tokens struct {
				Reasoning int64 `json:"reasoning_tokens"`
			}
		}
	}
	if err := json.Unmarshal(expected, &e); err != nil {
		t.Fatal(err)
	}
	want.Reasoning += e.Plan
	want.Finish = map[string]llm.FinishReason{
		"COMPLETE": llm.FinishStop, "STOP_SEQUENCE": llm.FinishStop, "MAX_TOKENS": llm.FinishLength,
		"TOOL_CALL": llm.FinishToolCalls, "ERROR": llm.FinishError, "TIMEOUT": llm.FinishError,
	}[e.Finish]
	if e.Usage == nil {
		return
	}
	b := e.Usage.Billed
	want.Usage = &llm.Usage{
		llm.Input: b.InputTokens, llm.Output: b.OutputTokens - e.Usage.Tokens.Reasoning,
		llm.Reasoning: e.Usage.Tokens.Reasoning, llm.Searches: b.SearchUnits,
	}
}

// normalCohere writes a request in one form, without defaults and empty members.
func normalCohere(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	for _, m := range v["messages"].([]any) {
		m := m.(map[string]any)
		if s, ok := m["content"].(string); ok && s != "" {
			m["content"] = []any{map[string]any{"type": "text", "text": s}}
		}
		maps.DeleteFunc(m, saysNothing)
	}
	if f, ok := v["response_format"].(map[string]any); ok && f["schema"] != nil {
		f["json_schema"] = f["schema"]
		delete(f, "schema")
	}
	if thinking, ok := v["thinking"].(map[string]any); ok && thinking["type"] == nil {
		thinking["type"] = "enabled"
	}
	if v["stream"] == false {
		delete(v, "stream")
	}
	maps.DeleteFunc(v, saysNothing)
	return v
}
