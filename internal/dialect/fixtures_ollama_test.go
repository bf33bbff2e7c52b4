package dialect_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"weir/internal/llm"
)

// ollamaFamily is the exchanges of Ollama's own chat API. Those of /api/generate
// are another operation, which the gateway does not have, and those of
// /v1/chat/completions speak OpenAI's format.
func ollamaFamily() family {
	return family{
		dialect: "ollama",
		is:      func(url string) bool { return strings.HasSuffix(url, "/api/chat") },
		expect:  expectOllama,
		normal:  normalOllama,
	}
}

// expectOllama expects usage only where the prompt is counted: see usage.go of
// the dialect.
func expectOllama(t *testing.T, want *answer, expected []byte) {
	t.Helper()
	var e struct {
		Finish string `json:"finish_reason"`
		Usage  struct {
			Prompt *int64 `json:"prompt_eval_count"`
			Cached int64  `json:"prompt_eval_cached_count"`
			Output int64  `json:"eval_count"`
		}
	}
	if err := json.Unmarshal(expected, &e); err != nil {
		t.Fatal(err)
	}
	want.Finish = llm.FinishReason(e.Finish)
	if want.Finish == llm.FinishStop && len(want.Calls) > 0 {
		want.Finish = llm.FinishToolCalls
	}
	if u := e.Usage; u.Prompt != nil {
		want.Usage = &llm.Usage{llm.Input: *u.Prompt - u.Cached, llm.CacheRead: u.Cached, llm.Output: u.Output}
	}
}

// normalOllama leaves out what is the default, or says nothing.
func normalOllama(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	if v["stream"] == true {
		delete(v, "stream")
	}
	if v["think"] == "medium" {
		v["think"] = true
	}
	maps.DeleteFunc(v, func(_ string, member any) bool {
		o, isObject := member.(map[string]any)
		return member == nil || member == "" || isObject && len(o) == 0
	})
	return v
}
