package dialect_test

import "encoding/json"

// takeBack simulates the clients of each client API: they build the next request from an answer, whole or streamed.
var takeBack = map[string]*struct {
	whole  func(reply map[string]any) any
	stream func(chunks []map[string]any) any
	body   func(answer any, results []string) map[string]any
}{
	"openai":    {wholeOpenAI, streamOpenAI, bodyOpenAI},
	"anthropic": {func(r map[string]any) any { return r["content"] }, streamAnthropic, bodyAnthropic},
	"gemini":    {wholeGemini, streamGemini, bodyGemini},
	"responses": {func(r map[string]any) any { return r["output"] }, streamResponses, bodyResponses},
}

func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			if list, _ := v.([]any); step < len(list) {
				v = list[step]
			} else {
				return nil
			}
		}
	}
	return v
}

// grow joins the strings of a member.
func grow(m map[string]any, name string, more any) {
	if s, ok := more.(string); ok {
		before, _ := m[name].(string)
		m[name] = before + s
	}
}

func wholeOpenAI(r map[string]any) any { return at(r, "choices", 0, "message") }

func streamOpenAI(chunks []map[string]any) any {
	m := map[string]any{"role": "assistant"}
	var details, calls []any
	for _, c := range chunks {
		delta := at(c, "choices", 0, "delta")
		grow(m, "content", at(delta, "content"))
		grow(m, "reasoning_content", at(delta, "reasoning_content"))
		if more, ok := at(delta, "reasoning_details").([]any); ok {
			details = append(details, more...)
		}
		if extra := at(delta, "extra_content"); extra != nil {
			m["extra_content"] = extra
		}
		if piece, ok := at(delta, "tool_calls", 0).(map[string]any); ok {
			if int(piece["index"].(float64)) == len(calls) {
				calls = append(calls, piece)
				continue
			}
			open := calls[int(piece["index"].(float64))].(map[string]any)
			grow(open["function"].(map[string]any), "arguments", at(piece, "function", "arguments"))
		}
	}
	if details != nil {
		m["reasoning_details"] = details
	}
	if calls != nil {
		m["tool_calls"] = calls
	}
	return m
}

func bodyOpenAI(answer any, results []string) map[string]any {
	list := []any{map[string]any{"role": "user", "content": "Hi"}, answer}
	for _, id := range results {
		list = append(list, map[string]any{"role": "tool", "tool_call_id": id, "content": "fine"})
	}
	return map[string]any{"model": "m", "messages": append(list, map[string]any{"role": "user", "content": "So?"})}
}

func streamAnthropic(chunks []map[string]any) any {
	var blocks []any
	inputs := map[int]string{}
	for _, c := range chunks {
		index, _ := c["index"].(float64)
		switch c["type"] {
		case "content_block_start":
			blocks = append(blocks, c["content_block"])
		case "content_block_delta":
			block, delta := blocks[int(index)].(map[string]any), c["delta"]
			for _, name := range []string{"text", "thinking", "signature"} {
				grow(block, name, at(delta, name))
			}
			if s, ok := at(delta, "partial_json").(string); ok {
				inputs[int(index)] += s
			}
		}
	}
	for i, s := range inputs {
		blocks[i].(map[string]any)["input"] = json.RawMessage(s)
	}
	return blocks
}

func bodyAnthropic(answer any, results []string) map[string]any {
	next := []any{}
	for _, id := range results {
		next = append(next, map[string]any{"type": "tool_result", "tool_use_id": id, "content": "fine"})
	}
	next = append(next, map[string]any{"type": "text", "text": "So?"})
	return map[string]any{"model": "m", "max_tokens": 4096, "messages": []any{
		map[string]any{"role": "user", "content": "Hi"}, map[string]any{"role": "assistant", "content": answer}, map[string]any{"role": "user", "content": next},
	}}
}

func wholeGemini(r map[string]any) any { return at(r, "candidates", 0, "content") }

func streamGemini(chunks []map[string]any) any {
	var parts []any
	for _, c := range chunks {
		more, _ := at(c, "candidates", 0, "content", "parts").([]any)
		parts = append(parts, more...)
	}
	return map[string]any{"role": "model", "parts": parts}
}

func bodyGemini(answer any, results []string) map[string]any {
	parts, _ := at(answer, "parts").([]any)
	next := []any{}
	for _, p := range parts {
		if c, ok := at(p, "functionCall").(map[string]any); ok {
			next = append(next, map[string]any{"functionResponse": map[string]any{"id": c["id"], "name": c["name"], "response": map[string]any{"output": "fine"}}})
		}
	}
	next = append(next, map[string]any{"text": "So?"})
	return map[string]any{"contents": []any{
		map[string]any{"role": "user", "parts": []any{map[string]any{"text": "Hi"}}}, answer, map[string]any{"role": "user", "parts": next},
	}}
}

func streamResponses(chunks []map[string]any) any {
	return at(chunks[len(chunks)-1], "response", "output")
}

func bodyResponses(answer any, results []string) map[string]any {
	items, _ := answer.([]any)
	list := append([]any{map[string]any{"role": "user", "content": "Hi"}}, items...)
	for _, id := range results {
		list = append(list, map[string]any{"type": "function_call_output", "call_id": id, "output": "fine"})
	}
	return map[string]any{"model": "m", "input": append(list, map[string]any{"role": "user", "content": "So?"})}
}
