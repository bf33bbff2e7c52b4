package dialect_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/sse"
)

// clientToolsRequest has each kind of tool that a client of Responses runs.
const clientToolsRequest = `{"model":"m","input":[{"type":"additional_tools","role":"developer","tools":[
	{"type":"namespace","name":"functions","description":"","tools":[{"type":"custom","name":"exec"},
		{"type":"function","name":"wait","parameters":{"type":"object","properties":{}}}]}]},
	{"role":"user","content":"Hi"}],
	"tools":[{"type":"function","name":"mcp__tt__add","parameters":{"type":"object","properties":{}}},
	{"type":"namespace","name":"mcp__tt","description":"tt","tools":[{"type":"function","name":"add",
		"parameters":{"type":"object","properties":{"a":{"type":"number"}}}}]},
	{"type":"custom","name":"apply_patch","format":{"type":"grammar","syntax":"lark","definition":"start: /x/"}},
	{"type":"apply_patch"},{"type":"local_shell"},{"type":"shell","environment":{"type":"local"}},
	{"type":"tool_search","execution":"client","parameters":{"type":"object","properties":{"query":{"type":"string"}}}}]}`

// clientCall holds a call in an answer, and the item that the client must receive.
type clientCall struct {
	tool      llm.ClientTool
	arguments string
	want      string // its item, without id and status
}

func clientCalls() []clientCall {
	return []clientCall{
		{
			llm.ClientTool{Kind: llm.ToolFunction, Name: "mcp__tt__add"},
			`{"a":1}`,
			`{"type":"function_call","name":"mcp__tt__add","arguments":"{\"a\":1}"}`,
		},
		{
			llm.ClientTool{Kind: llm.ToolFunction, Namespace: "mcp__tt", Name: "add"},
			`{"a":2}`,
			`{"type":"function_call","namespace":"mcp__tt","name":"add","arguments":"{\"a\":2}"}`,
		},
		{
			llm.ClientTool{Kind: llm.ToolCustom, Namespace: "functions", Name: "exec"},
			`{"input":"text(\"é\\n\")"}`,
			`{"type":"custom_tool_call","namespace":"functions","name":"exec","input":"text(\"é\\n\")"}`,
		},
		{
			llm.ClientTool{Kind: llm.ToolCustom, Name: "apply_patch"},
			`{"input":"*** Begin Patch\n\u0041😀\\n\n*** End Patch"}`,
			`{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin Patch\nA😀\\n\n*** End Patch"}`,
		},
		{
			llm.ClientTool{Kind: llm.ToolApplyPatch, Name: "apply_patch"},
			`{"type":"delete_file","path":"a"}`,
			`{"type":"apply_patch_call","operation":{"type":"delete_file","path":"a"}}`,
		},
		{
			llm.ClientTool{Kind: llm.ToolLocalShell, Name: "local_shell"},
			`{"command":["ls"],"timeout_ms":9}`,
			`{"type":"local_shell_call","action":{"type":"exec","command":["ls"],"timeout_ms":9,"env":{}}}`,
		},
		{
			llm.ClientTool{Kind: llm.ToolShell, Name: "shell"},
			`{"commands":["ls"]}`,
			`{"type":"shell_call","action":{"commands":["ls"],"timeout_ms":null,"max_output_length":null},"environment":{"type":"local"}}`,
		},
		{
			llm.ClientTool{Kind: llm.ToolSearch, Name: "tool_search"},
			`{"query":"mail"}`,
			`{"type":"tool_search_call","execution":"client","arguments":{"query":"mail"}}`,
		},
	}
}

// standsFor returns the name under which a provider receives a tool.
func standsFor(t *testing.T, r *llm.Request, tool llm.ClientTool) string {
	t.Helper()
	for _, f := range r.Elsewhere.Tools {
		if got, is := r.Elsewhere.Called.Of(f.Name); got == tool || !is && f.Name == tool.Name && tool.Namespace == "" {
			return f.Name
		}
	}
	t.Fatalf("no function replaces %+v", tool)
	return ""
}

// TestClientToolsNamedBack checks that calls of the client's own tools come back under the client's names, from
// providers of every wire format, whole and streamed.
func TestClientToolsNamedBack(t *testing.T) {
	t.Parallel()
	client := byName(t, "responses")
	for _, d := range providers() {
		if d.Name == client.Name {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			request, err := client.DecodeRequest([]byte(clientToolsRequest))
			if err != nil {
				t.Fatal(err)
			}
			var parts []llm.Part
			var want []any
			for i, c := range clientCalls() {
				parts = append(parts, llm.Part{Kind: llm.PartToolCall, Call: &llm.ToolCall{
					ID: "call_" + string(rune('a'+i)), Name: standsFor(t, request, c.tool), Arguments: c.arguments,
				}})
				want = append(want, jsonOf(t, c.want))
			}
			whole := wholeThrough(t, d, client, parts, &request.Elsewhere.Called)
			if diff := cmp.Diff(calledItems(t, whole), want); diff != "" {
				t.Errorf("whole (-got +want)\n%s", diff)
			}
			for _, size := range []int{1, 3, 1000} {
				events := streamedThrough(t, d, client, parts, size, &request.Elsewhere.Called)
				if diff := cmp.Diff(calledItems(t, events.last), want); diff != "" {
					t.Errorf("in pieces of %d (-got +want)\n%s", size, diff)
				}
				if diff := cmp.Diff(events.done, want); diff != "" {
					t.Errorf("items of pieces of %d (-got +want)\n%s", size, diff)
				}
				if diff := cmp.Diff(events.inputs, []string{`text("é\n")`, "*** Begin Patch\nA😀\\n\n*** End Patch"}); diff != "" {
					t.Errorf("inputs in pieces of %d (-got +want)\n%s", size, diff)
				}
			}
		})
	}
}

func jsonOf(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(text, err)
	}
	return v
}

// calledItems returns the items of a response object, without ids and status.
func calledItems(t *testing.T, response []byte) (items []any) {
	t.Helper()
	var r struct{ Output []map[string]any }
	if err := json.Unmarshal(response, &r); err != nil {
		t.Fatalf("%s: %v", response, err)
	}
	for _, item := range r.Output {
		items = append(items, bare(t, item))
	}
	return items
}

// bare returns an item without the required members that differ in each answer.
func bare(t *testing.T, item map[string]any) any {
	t.Helper()
	for _, name := range []string{"id", "call_id", "status"} {
		if s, _ := item[name].(string); s == "" {
			t.Errorf("no %s in %v", name, item)
		}
		delete(item, name)
	}
	return any(item)
}

// wholeThrough encodes an answer as a provider does, and translates it for the client.
func wholeThrough(t *testing.T, d, client *dialect.Dialect, parts []llm.Part, called *llm.Called) []byte {
	t.Helper()
	body := d.EncodeReply(nil, &llm.Reply{ID: "x", Model: "m", Choices: []llm.Choice{{
		Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}, Finish: llm.FinishToolCalls,
	}}})
	reply, err := d.DecodeReply(body, &llm.Quirks{})
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	reply.ID, reply.Called = client.IDPrefix+"1", called
	return client.EncodeReply(nil, reply)
}

// heard holds the content that a client reads from a stream.
type heard struct {
	last   []byte   // the whole answer
	done   []any    // items
	inputs []string // of custom tools, joined from their pieces
}

// streamedThrough does the same with a stream, in pieces of the given number of bytes.
func streamedThrough(t *testing.T, d, client *dialect.Dialect, parts []llm.Part, size int, called *llm.Called) heard {
	t.Helper()
	return hear(t, throughStream(t, d, client, parts, size, called))
}

// throughStream encodes a stream as a provider does, and translates it for the client.
func throughStream(t *testing.T, d, client *dialect.Dialect, parts []llm.Part, size int, called *llm.Called) []byte {
	t.Helper()
	provider := d.NewEncoder(llm.Meta{ID: "x", Model: "m"})
	var sent []byte
	for i, p := range parts {
		sent = provider.Append(sent, &llm.Event{Kind: llm.EventToolCall, Tool: llm.ToolDelta{Index: i, ID: p.Call.ID, Name: p.Call.Name}})
		for piece := range cutInto(p.Call.Arguments, size) {
			sent = provider.Append(sent, &llm.Event{Kind: llm.EventToolCall, Text: piece, Tool: llm.ToolDelta{Index: i}})
		}
	}
	sent = provider.Finish(sent, &llm.Final{Finish: []llm.FinishReason{llm.FinishToolCalls}})
	var out []byte
	encoder := client.NewEncoder(llm.Meta{ID: client.IDPrefix + "1", Model: "m", Called: called})
	decoder := d.NewDecoder(&llm.Quirks{})
	frames := d.Framing.NewReader(bytes.NewReader(sent), 1<<20)
	for {
		frame, err := frames.Next()
		if err != nil {
			break
		}
		events, err := decoder.Decode(nil, frame)
		if err != nil {
			t.Fatalf("%s: %v", frame.Data, err)
		}
		for i := range events {
			out = encoder.Append(out, &events[i])
		}
	}
	return encoder.Finish(out, &llm.Final{Finish: []llm.FinishReason{llm.FinishToolCalls}})
}

// cutInto splits a text into pieces of at least the given number of bytes, between characters.
func cutInto(s string, size int) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		from := 0
		for i := range s {
			if i-from >= size {
				if !yield(s[from:i]) {
					return
				}
				from = i
			}
		}
		yield(s[from:])
	}
}

func hear(t *testing.T, stream []byte) (h heard) {
	t.Helper()
	r := sse.NewReader(bytes.NewReader(stream), 1<<20)
	texts, order := map[string]*strings.Builder{}, []string{}
	for {
		frame, err := r.Next()
		if err != nil {
			break
		}
		var e struct {
			Type     string
			ItemID   string `json:"item_id"`
			Delta    string
			Input    string
			Item     map[string]any
			Response json.RawMessage
		}
		if err := json.Unmarshal(frame.Data, &e); err != nil {
			t.Fatalf("%s: %v", frame.Data, err)
		}
		switch e.Type {
		case "response.output_item.done":
			h.done = append(h.done, bare(t, e.Item))
		case "response.custom_tool_call_input.delta":
			if texts[e.ItemID] == nil {
				texts[e.ItemID] = &strings.Builder{}
				order = append(order, e.ItemID)
			}
			texts[e.ItemID].WriteString(e.Delta)
		case "response.custom_tool_call_input.done":
			if got := texts[e.ItemID].String(); got != e.Input {
				t.Errorf("pieces %q, whole %q", got, e.Input)
			}
		case "response.completed":
			h.last = e.Response
		}
	}
	for _, id := range order {
		h.inputs = append(h.inputs, texts[id].String())
	}
	return h
}
