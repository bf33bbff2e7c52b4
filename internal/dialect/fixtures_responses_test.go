package dialect_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"weir/internal/llm"
)

func responsesFamily() family {
	return family{
		dialect: "responses",
		is:      func(url string) bool { return strings.HasSuffix(url, "/responses") },
		expect:  expectResponses,
		normal:  normalResponses,

		searches: searchesOfResponses,
	}
}

// searchesOfResponses counts the calls of the web search that searched, in a
// response or in the last event of a stream.
func searchesOfResponses(t *testing.T, response []byte) (n int64) {
	t.Helper()
	type answer struct {
		Output []struct {
			Type, Status string
			Action       struct{ Type string }
		}
	}
	var v struct {
		answer
		Response answer
	}
	if i := bytes.LastIndex(response, []byte("data: {")); i >= 0 {
		response, _, _ = bytes.Cut(response[i+len("data: "):], []byte("\n"))
	}
	if err := json.Unmarshal(response, &v); err != nil {
		t.Fatal(err)
	}
	for _, item := range append(v.Output, v.Response.Output...) {
		if item.Type == "web_search_call" && item.Status == "completed" && item.Action.Type == "search" {
			n++
		}
	}
	return n
}

func expectResponses(t *testing.T, want *answer, expected []byte) {
	t.Helper()
	var e struct {
		Status     string
		Incomplete json.RawMessage
		Items      []string `json:"item_types"`
		Usage      *struct {
			Input   int64 `json:"input_tokens"`
			Output  int64 `json:"output_tokens"`
			Total   int64 `json:"total_tokens"`
			Details struct {
				Cached  int64 `json:"cached_tokens"`
				Written int64 `json:"cache_write_tokens"`
				Audio   int64 `json:"audio_tokens"`
				Image   int64 `json:"image_tokens"`
			} `json:"input_tokens_details"`
			OutputDetails struct {
				Reasoning int64 `json:"reasoning_tokens"`
			} `json:"output_tokens_details"`
		}
	}
	if err := json.Unmarshal(expected, &e); err != nil {
		t.Fatal(err)
	}
	switch {
	case e.Status == "incomplete" && strings.Contains(string(e.Incomplete), "content_filter"):
		want.Finish = llm.FinishContentFilter
	case e.Status == "incomplete":
		want.Finish = llm.FinishLength
	case len(want.Calls) > 0, slices.ContainsFunc(e.Items, asksToAct):
		want.Finish = llm.FinishToolCalls
	default:
		want.Finish = llm.FinishStop
	}
	u := e.Usage
	if u == nil {
		return
	}
	in, out, reasoning := u.Details, u.Output, u.OutputDetails.Reasoning
	if u.Total != u.Input+u.Output+reasoning { // it is within the output
		out -= reasoning
	}
	want.Usage = &llm.Usage{
		llm.Input: u.Input - in.Cached - in.Written - in.Audio - in.Image, llm.CacheRead: in.Cached, llm.CacheWrite: in.Written,
		llm.AudioIn: in.Audio, llm.ImageIn: in.Image, llm.Output: out, llm.Reasoning: reasoning,
	}
}

// asksToAct reports whether the client must answer an item of this kind, other than a function call.
func asksToAct(kind string) bool {
	return slices.Contains([]string{"custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call", "mcp_approval_request"}, kind)
}

// normalResponses adds omitted defaults, and removes empty members.
func normalResponses(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	if s, ok := v["input"].(string); ok {
		v["input"] = []any{map[string]any{"role": "user", "content": s}}
	}
	input, _ := v["input"].([]any)
	for _, item := range input {
		item := item.(map[string]any)
		if item["type"] == "message" {
			delete(item, "type")
		}
		if item["role"] == "developer" {
			item["role"] = "system"
		}
		for _, name := range []string{"content", "output"} {
			parts, ok := item[name].([]any)
			if ok && len(parts) == 0 && item["type"] != "reasoning" {
				item[name] = ""
			}
			if ok && len(parts) == 1 {
				if p := parts[0].(map[string]any); len(p) == 2 && p["text"] != nil && p["type"] != "reasoning_text" {
					item[name] = p["text"]
				}
			}
		}
	}
	if v["stream"] == false {
		delete(v, "stream")
	}
	dropNulls(v)
	for _, name := range []string{"tools", "text", "reasoning"} {
		switch e := v[name].(type) {
		case []any:
			if len(e) == 0 {
				delete(v, name)
			}
		case map[string]any:
			if len(e) == 0 {
				delete(v, name)
			}
		}
	}
	return v
}

func dropNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			if e == nil {
				delete(v, name)
				continue
			}
			dropNulls(e)
		}
	case []any:
		for _, e := range v {
			dropNulls(e)
		}
	}
}
