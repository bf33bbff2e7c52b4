package dialect_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/llm"
	"weir/internal/sse"
)

// anthropicFamily excludes token counting, which is not a chat.
func anthropicFamily() family {
	return family{
		dialect: "anthropic",
		is: func(url string) bool {
			path, _, _ := strings.Cut(url, "?")
			return strings.HasSuffix(path, "/v1/messages")
		},
		expect: expectAnthropic,
		normal: normalAnthropic,
	}
}

func expectAnthropic(t *testing.T, want *answer, expected []byte) {
	t.Helper()
	var e struct {
		Finish string `json:"finish_reason"`
		Usage  *struct {
			Input      int64 `json:"input_tokens"`
			Output     int64 `json:"output_tokens"`
			CacheRead  int64 `json:"cache_read_input_tokens"`
			CacheWrite int64 `json:"cache_creation_input_tokens"`
			Creation   struct {
				Hour int64 `json:"ephemeral_1h_input_tokens"`
			} `json:"cache_creation"`
			Details struct {
				Thinking int64 `json:"thinking_tokens"`
			} `json:"output_tokens_details"`
			Server struct {
				Searches int64 `json:"web_search_requests"`
			} `json:"server_tool_use"`
		}
	}
	if err := json.Unmarshal(expected, &e); err != nil {
		t.Fatal(err)
	}
	want.Finish = map[string]llm.FinishReason{
		"end_turn": llm.FinishStop, "stop_sequence": llm.FinishStop, "tool_use": llm.FinishToolCalls, "refusal": llm.FinishContentFilter,
		"max_tokens": llm.FinishLength, "pause_turn": llm.FinishLength, "model_context_window_exceeded": llm.FinishLength,
	}[e.Finish]
	if u := e.Usage; u != nil {
		want.Usage = &llm.Usage{
			llm.Input: u.Input, llm.CacheRead: u.CacheRead,
			llm.CacheWrite: u.CacheWrite - u.Creation.Hour, llm.CacheWrite1h: u.Creation.Hour,
			llm.Output: u.Output - u.Details.Thinking, llm.Reasoning: u.Details.Thinking, llm.Searches: u.Server.Searches,
		}
	}
}

// normalAnthropic writes every content as an array, and removes nulls, empty lists and defaults.
func normalAnthropic(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	v = withoutNulls(v).(map[string]any)
	if v["stream"] == false {
		delete(v, "stream")
	}
	asBlocks(v, "system")
	for _, m := range v["messages"].([]any) {
		asBlocks(m.(map[string]any), "content")
	}
	tools, _ := v["tools"].([]any)
	for _, tool := range tools {
		if tool := tool.(map[string]any); tool["description"] == "" {
			delete(tool, "description")
		}
	}
	for _, name := range []string{"tools", "stop_sequences"} {
		if list, ok := v[name].([]any); ok && len(list) == 0 {
			delete(v, name)
		}
	}
	return v
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if member == nil {
				delete(v, name)
			} else {
				v[name] = withoutNulls(member)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}

func asBlocks(object map[string]any, name string) {
	if text, ok := object[name].(string); ok && text != "" {
		object[name] = []any{map[string]any{"type": "text", "text": text}}
	}
	blocks, _ := object[name].([]any)
	if len(blocks) == 0 {
		delete(object, name)
	}
	for _, b := range blocks {
		if b := b.(map[string]any); b["type"] == "tool_result" {
			asBlocks(b, "content")
			if b["is_error"] == false {
				delete(b, "is_error")
			}
		}
	}
}

// TestAnthropicStreams checks that a recorded stream loses nothing through the events: every block has its number, its
// start and its pieces.
func TestAnthropicStreams(t *testing.T) {
	t.Parallel()
	f, d := anthropicFamily(), byName(t, "anthropic")
	for _, e := range recorded(t, &f) {
		if !e.stream {
			continue
		}
		out := translate(d, d, e.body, &llm.Quirks{})
		if diff := cmp.Diff(outline(t, out), outline(t, e.body)); diff != "" {
			t.Errorf("%s (-got +want)\n%s", e.name, diff)
		}
	}
}

// outline returns the events of a stream between its start and its end, without pings and empty pieces.
func outline(t *testing.T, stream []byte) (list []any) {
	t.Helper()
	for r := sse.NewReader(bytes.NewReader(stream), 1<<20); ; {
		frame, err := r.Next()
		if err != nil {
			return list
		}
		var v map[string]any
		if err := json.Unmarshal(frame.Data, &v); err != nil {
			t.Fatal(err)
		}
		delta, _ := v["delta"].(map[string]any)
		block, _ := v["content_block"].(map[string]any)
		switch input := delta["partial_json"]; {
		case !strings.HasPrefix(string(frame.Name), "content_block"), input == "", input == "{}":
			continue
		case block["type"] == "tool_use":
			delete(block, "caller")
		case block["type"] == "text":
			delete(block, "citations")
		}
		list = append(list, v)
	}
}
