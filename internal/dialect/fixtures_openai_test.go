package dialect_test

import (
	"encoding/json"
	"strings"
	"testing"

	"weir/internal/llm"
)

func openaiFamily() family {
	return family{
		dialect: "openai",
		is:      func(url string) bool { return strings.Contains(url, "/chat/completions") },
		expect:  expectOpenAI,
		normal:  normalOpenAI,
	}
}

func expectOpenAI(t *testing.T, want *answer, expected []byte) {
	t.Helper()
	type usage struct {
		Prompt        int64 `json:"prompt_tokens"`
		Completion    int64 `json:"completion_tokens"`
		PromptCamel   int64 `json:"promptTokens"`
		CompleteCamel int64 `json:"completionTokens"`
		PromptDetails struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		Details struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	var e struct {
		Finish string `json:"finish_reason"`
		Usage  *usage
		Groq   *usage `json:"usage_x_groq"`
	}
	if err := json.Unmarshal(expected, &e); err != nil {
		t.Fatal(err)
	}
	want.Finish = llm.FinishReason(e.Finish)
	if e.Finish == "function_call" { // the SDK leaves the legacy call aside; it is a call all the same
		want.Finish = llm.FinishToolCalls
		want.Calls = []llm.ToolCall{{ID: "call_0", Name: "get_current_weather", Arguments: "{\n  \"location\": \"Boston\"\n}"}}
	}
	u := e.Usage
	if u == nil {
		u = e.Groq
	}
	if u == nil {
		return
	}
	prompt, completion := u.Prompt+u.PromptCamel, u.Completion+u.CompleteCamel
	cached := min(u.PromptDetails.Cached, prompt)
	want.Usage = &llm.Usage{
		llm.Input: prompt - cached, llm.CacheRead: cached,
		llm.Output: completion - u.Details.Reasoning, llm.Reasoning: u.Details.Reasoning,
	}
}

func normalOpenAI(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	for _, m := range v["messages"].([]any) {
		m := m.(map[string]any)
		delete(m, "reasoning") // the same as reasoning_content
		if m["content"] == nil {
			m["content"] = ""
		}
	}
	if limit, ok := v["max_tokens"]; ok {
		v["max_completion_tokens"] = limit
		delete(v, "max_tokens")
	}
	if v["stream"] == false {
		delete(v, "stream")
	}
	delete(v, "stream_options")
	return v
}
