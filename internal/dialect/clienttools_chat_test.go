package dialect_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/dialect"
	"weir/internal/llm"
)

// chatCase holds a request of Chat Completions, the calls of the answer, and the answer that its client must receive.
type chatCase struct {
	name, request string
	calls         []llm.ToolCall
	message       string // without content
	finish        string
}

func chatCases() []chatCase {
	return []chatCase{
		{
			name: "custom tools",
			request: `{"model":"m","messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"custom","custom":{"name":"run.it"}},` +
				`{"type":"function","function":{"name":"f"}}]}`,
			calls: []llm.ToolCall{
				{ID: "a", Name: "run_it", Arguments: `{"input":"x\n\"y\""}`},
				{ID: "b", Name: "f", Arguments: `{"a":1}`},
				{ID: "c", Name: "run_it", Arguments: `{"text":"z"}`},
			},
			message: `{"tool_calls":[{"id":"a","type":"custom","custom":{"name":"run.it","input":"x\n\"y\""}},` +
				`{"id":"b","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},` +
				`{"id":"c","type":"custom","custom":{"name":"run.it","input":"{\"text\":\"z\"}"}}]}`,
			finish: "tool_calls",
		},
		{
			name:    "functions of the time before tools",
			request: `{"model":"m","messages":[{"role":"user","content":"Hi"}],"functions":[{"name":"f"}]}`,
			calls: []llm.ToolCall{
				{ID: "a", Name: "f", Arguments: `{"a":1}`}, {ID: "b", Name: "f", Arguments: `{"a":2}`},
			},
			message: `{"function_call":{"name":"f","arguments":"{\"a\":1}"}}`,
			finish:  "function_call",
		},
	}
}

// TestChatToolsNamedBack checks that clients of Chat Completions receive calls in the form in which they offered their
// tools, whole and streamed.
func TestChatToolsNamedBack(t *testing.T) {
	t.Parallel()
	client := byName(t, "openai")
	for _, c := range chatCases() {
		request, err := client.DecodeRequest([]byte(c.request))
		if err != nil {
			t.Fatal(err)
		}
		var parts []llm.Part
		for i := range c.calls {
			parts = append(parts, llm.Part{Kind: llm.PartToolCall, Call: &c.calls[i]})
		}
		for _, d := range providers() {
			if d.Name == client.Name {
				continue
			}
			whole := wholeThrough(t, d, client, parts, &request.Elsewhere.Called)
			var reply struct {
				Choices []struct {
					Message map[string]any
					Finish  string `json:"finish_reason"`
				}
			}
			if err := json.Unmarshal(whole, &reply); err != nil {
				t.Fatalf("%s: %v", whole, err)
			}
			checkChat(t, c, d.Name+" whole", reply.Choices[0].Message, reply.Choices[0].Finish)
			for _, size := range []int{1, 5, 1000} {
				message, finish := chatStream(t, d, client, parts, size, &request.Elsewhere.Called)
				checkChat(t, c, d.Name+" in pieces", message, finish)
			}
		}
	}
}

func checkChat(t *testing.T, c chatCase, what string, message map[string]any, finish string) {
	t.Helper()
	for _, name := range []string{"role", "content", "refusal"} {
		delete(message, name)
	}
	if diff := cmp.Diff(any(message), jsonOf(t, c.message)); diff != "" || finish != c.finish {
		t.Errorf("%s, %s: finish %q, want %q (-got +want)\n%s", c.name, what, finish, c.finish, diff)
	}
}

// chatStream joins the pieces of a stream as an official SDK does, and returns the message and its finish reason.
func chatStream(t *testing.T, d, client *dialect.Dialect, parts []llm.Part, size int, called *llm.Called) (map[string]any, string) {
	t.Helper()
	message, finish := map[string]any{}, ""
	for line := range strings.SplitSeq(string(throughStream(t, d, client, parts, size, called)), "\n\n") {
		data, is := strings.CutPrefix(line, "data: {")
		if !is {
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta  map[string]any
				Finish *string `json:"finish_reason"`
			}
		}
		if err := json.Unmarshal([]byte("{"+data), &chunk); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		for _, c := range chunk.Choices {
			merge(message, c.Delta)
			if c.Finish != nil {
				finish = *c.Finish
			}
		}
	}
	calls, _ := message["tool_calls"].([]any)
	for _, call := range calls {
		delete(call.(map[string]any), "index")
	}
	return message, finish
}

// merge adds a delta to a message: texts to texts, elements by their index.
func merge(into, delta map[string]any) {
	for name, v := range delta {
		switch v := v.(type) {
		case map[string]any:
			inner, _ := into[name].(map[string]any)
			if inner == nil {
				inner = map[string]any{}
				into[name] = inner
			}
			merge(inner, v)
		case []any:
			list, _ := into[name].([]any)
			for _, e := range v {
				element := e.(map[string]any)
				i := int(element["index"].(float64))
				for len(list) <= i {
					list = append(list, map[string]any{})
				}
				merge(list[i].(map[string]any), element)
			}
			into[name] = list
		case string:
			before, _ := into[name].(string)
			into[name] = before + v
		default:
			into[name] = v
		}
	}
}
