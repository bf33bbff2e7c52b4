package chat_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestClientTools sends two requests with a tool that a client of the Responses API runs and that providers have only
// as a function: the client receives the call under its own name, and the provider its result. Whole and streamed, and
// continued from a stored response.
func TestClientTools(t *testing.T) {
	t.Parallel()
	tools := map[string]string{
		"namespace":   `{"type":"namespace","name":"mcp__tt","description":"tt","tools":[{"type":"function","name":"add","parameters":{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}}]}`,
		"custom":      `{"type":"custom","name":"apply_patch","format":{"type":"grammar","syntax":"lark","definition":"start: /x/"}}`,
		"local_shell": `{"type":"local_shell"}`,
		"apply_patch": `{"type":"apply_patch"}`,
	}
	types := map[string]string{"namespace": "function_call", "custom": "custom_tool_call"}
	for dialect, path := range harness.Spoken() {
		if dialect == "responses" {
			continue
		}
		up := harness.NewUpstream(t)
		h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.SpokenBy("house", dialect, up.URL, path) + harness.PricesYAML})
		for kind, tool := range tools {
			for _, stream := range []bool{false, true} {
				for _, item := range []bool{false, true} {
					what := fmt.Sprintf("%s at %s, streamed %v, in an item %v", kind, dialect, stream, item)
					want := types[kind]
					if want == "" {
						want = kind + "_call"
					}
					callTool(t, h, what, tool, want, stream, item)
				}
			}
		}
	}
}

// callTool requests a call, and returns its result: with the whole conversation, and continued from the response.
func callTool(t *testing.T, h *harness.Gateway, what, tool, want string, stream, item bool) {
	t.Helper()
	user, more := `{"role":"user","content":"Hi"}`, fmt.Sprintf(`"model":"house/tools","stream":%v,`, stream)
	if item {
		user = `{"type":"additional_tools","role":"developer","tools":[` + tool + `]},` + user
	} else {
		more += `"tools":[` + tool + `],`
	}
	object, id := harness.Responded(t, h.Respond(more+`"input":[`+user+`]`))
	var r struct{ Output []json.RawMessage }
	if err := json.Unmarshal([]byte(object), &r); err != nil || len(r.Output) != 1 {
		t.Fatalf("%s: %v, %s", what, err, object)
	}
	call := string(r.Output[0])
	var c struct {
		Type, Namespace, Name string
		CallID                string `json:"call_id"`
	}
	if err := json.Unmarshal(r.Output[0], &c); err != nil || c.Type != want || c.CallID == "" ||
		(strings.Contains(tool, `"namespace"`) && (c.Namespace != "mcp__tt" || c.Name != "add")) {
		t.Errorf("%s: got %s, want a %s", what, call, want)
		return
	}
	result := fmt.Sprintf(`{"type":"%s_output","call_id":%q,"id":%q,"status":"completed","output":"forty-two"}`, want, c.CallID, c.CallID)
	again := h.Respond(more + `"input":[` + user + `,` + call + `,` + result + `]`)
	if again.Status != http.StatusOK || !strings.Contains(again.Body, "forty-two") {
		t.Errorf("%s: with its result: %d %s", what, again.Status, again.Body)
	}
	on := h.Respond(more + `"previous_response_id":"` + id + `","input":[` + result + `]`)
	if on.Status != http.StatusOK || !strings.Contains(on.Body, "forty-two") {
		t.Errorf("%s: on from the response: %d %s", what, on.Status, on.Body)
	}
}

// TestClientToolsWithEqualIDs checks that calls of the client's own tools match their results even if an older history
// has one id for several calls.
func TestClientToolsWithEqualIDs(t *testing.T) {
	t.Parallel()
	k := harness.OpenKept(t, "openai", "", nil)
	turn := `{"type":"function_call","call_id":"call_0","namespace":"n","name":"f","arguments":"{}"},` +
		`{"type":"function_call_output","call_id":"call_0","output":"a"},` +
		`{"type":"custom_tool_call","call_id":"call_0","name":"c","input":"x"},` +
		`{"type":"custom_tool_call_output","call_id":"call_0","output":"b"}`
	r := k.Respond(`"model":"house/echo","store":false,"input":[{"role":"user","content":"Hi"},` + turn + `,` + turn + `]`)
	if r.Status != http.StatusOK {
		t.Fatalf("status %d: %s", r.Status, r.Body)
	}
	var sent struct {
		Messages []struct {
			Calls []struct{ ID string } `json:"tool_calls"`
			ID    string                `json:"tool_call_id"`
		}
	}
	if err := json.Unmarshal([]byte(k.Last()), &sent); err != nil {
		t.Fatal(err)
	}
	seen, open := map[string]bool{}, ""
	for _, m := range sent.Messages {
		for _, c := range m.Calls {
			if seen[c.ID] {
				t.Errorf("two calls have the id %q: %s", c.ID, k.Last())
			}
			seen[c.ID], open = true, c.ID
		}
		if m.ID != "" && m.ID != open {
			t.Errorf("a result of %q behind the call %q: %s", m.ID, open, k.Last())
		}
	}
	if len(seen) != 4 {
		t.Errorf("%d calls were sent, want 4: %s", len(seen), k.Last())
	}
}
