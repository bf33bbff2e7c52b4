package dialect_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"strings"
	"testing"

	"weir/internal/llm"
)

// ollamaFamily describes the exchanges of Ollama's own chat API. It excludes /api/generate, an operation that the
// gateway does not have, and /v1/chat/completions, which has OpenAI's format.
func ollamaFamily() family {
	return family{
		dialect: "ollama",
		is:      func(url string) bool { return strings.HasSuffix(url, "/api/chat") },
		expect:  expectOllama,
		normal:  normalOllama,
	}
}

// expectOllama expects usage only if the prompt is counted: see usage.go of the dialect.
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

// normalOllama removes defaults, empty members and ids made up for missing ones.
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
	maps.DeleteFunc(v, saysNothing)
	for _, m := range v["messages"].([]any) {
		m := m.(map[string]any)
		maps.DeleteFunc(m, saysNothing)
		maps.DeleteFunc(m, isMadeUp)
		calls, _ := m["tool_calls"].([]any)
		for _, c := range calls {
			c := c.(map[string]any)
			maps.DeleteFunc(c, isMadeUp)
			delete(c, "type") // a function in any case
			delete(c["function"].(map[string]any), "index")
		}
	}
	return v
}

// saysNothing reports whether a member means the same as its absence.
func saysNothing(_ string, member any) bool {
	switch v := member.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return member == nil || member == ""
}

var madeUpID = regexp.MustCompile(`^call_\d+$`)

func isMadeUp(name string, member any) bool {
	s, _ := member.(string)
	return (name == "id" || name == "tool_call_id") && madeUpID.MatchString(s)
}
