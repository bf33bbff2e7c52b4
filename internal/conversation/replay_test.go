package conversation_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/conversation"
	"weir/internal/must"

	"weir/internal/worktest"
)

// TestReplayRepeatsAnswerItems checks which items of an answer are sent in the next request.
func TestReplayRepeatsAnswerItems(t *testing.T) {
	t.Parallel()
	const (
		sealed = `{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA"}`
		open   = `{"id":"57dd","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"Hm"}]}`
		empty  = `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Hm"}]}`
		search = `{"id":"ws_1","type":"web_search_call","status":"completed"}`
		call   = `{"id":"fc_1","type":"function_call","status":"completed","call_id":"c","name":"f","arguments":"{}"}`
		custom = `{"id":"ctc_1","type":"custom_tool_call","call_id":"c","name":"f","input":"x"}`
		screen = `{"id":"cu_1","type":"computer_call","call_id":"c","status":"completed"}`
	)
	message := says("msg_1", "A")
	tests := []struct{ name, output, want string }{
		{"as it is", message + "," + call + "," + custom + "," + search + `,{"type":"of_next_year","id":"x"}`, message + "," + call + "," + custom + "," + search + `,{"type":"of_next_year","id":"x"}`},
		{"encrypted thinking", `{"id":"rs_1","type":"reasoning","summary":[],"status":"completed","content":[{"type":"reasoning_text","text":"Hm"}],"encrypted_content":"gAAA"},` + message + "," + call + "," + search, sealed + "," + message + "," + call + "," + search},
		{"encrypted thinking without a summary", `{"id":"rs_1","type":"reasoning","encrypted_content":"gAAA"}`, `{"summary":[],"id":"rs_1","type":"reasoning","encrypted_content":"gAAA"}`},
		{"open thinking", `{"id":"57dd","type":"reasoning","status":"completed","summary":[],"encrypted_content":null,"content":[{"type":"reasoning_text","text":"Hm"}]},` + message, open + "," + message},
		{"thinking that another one keeps", empty + "," + search + "," + message + "," + call + "," + custom, `{"type":"message","role":"assistant","content":"A"},` +
			`{"type":"function_call","status":"completed","call_id":"c","name":"f","arguments":"{}"},{"type":"custom_tool_call","call_id":"c","name":"f","input":"x"}`},
		{"and calls that are known by their ids", empty + "," + screen + "," + search + "," + message, empty + "," + screen + "," + search + "," + message},
		{"the same with a status", `{"id":"rs_1","type":"reasoning","summary":[],"status":"completed"},` + screen, `{"id":"rs_1","type":"reasoning","summary":[]},` + screen},
		{
			"ids of another form", strings.ReplaceAll(message+","+call+","+custom, `"id":"`, `"id":"a-`),
			`{"type":"message","role":"assistant","content":"A"},{"type":"function_call","status":"completed","call_id":"c","name":"f","arguments":"{}"},{"type":"custom_tool_call","call_id":"c","name":"f","input":"x"}`,
		},
		{
			"a message of many parts", `{"id":"7","type":"message","phase":"commentary","status":"completed","role":"assistant","content":[{"type":"output_text","text":"a\n"},{"type":"output_text","text":"ü","annotations":[{}]}]}`,
			`{"type":"message","phase":"commentary","role":"assistant","content":"a\nü"}`,
		},
		{
			"a refusal", `{"id":"7","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"refusal","refusal":"no"}]}`,
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"refusal","refusal":"no"}]}`,
		},
	}
	w := newWorld(t)
	for i, tt := range tests {
		id := fmt.Sprint("resp_", i)
		w.turn(`{"input":[]}`, answer(id, tt.output))
		if got, _ := w.expand(`{` + previous(id) + `"input":[]}`); got != `{"input":[`+tt.want+`]}` {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// exchange is one request of a conversation and its answer.
type exchange struct{ input, output []string }

func (e *exchange) items() []string { return append(append([]string{}, e.input...), e.output...) }

// drawText generates the text of a JSON string, without the quotes.
func drawText(t *rapid.T) string {
	text := must.Get(json.Marshal(rapid.String().Draw(t, "text")))(t)
	return string(text[1 : len(text)-1])
}

func drawItems(t *rapid.T, prefix, form string) (items []string) {
	for i := range rapid.IntRange(0, 3).Draw(t, "items") {
		items = append(items, fmt.Sprintf(form, fmt.Sprint(prefix, "_", i), drawText(t)))
	}
	return items
}

// TestAnyChain checks that a request continues the concatenation of all earlier ones, in any tree of branching
// conversations.
func TestAnyChain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		said := map[string][]string{"": nil} // all up to a response
		ids := []string{""}
		for i := range rapid.IntRange(1, 8).Draw(rt, "turns") {
			before := rapid.SampledFrom(ids).Draw(rt, "previous")
			id := fmt.Sprintf("resp_%d_%d", run, i)
			e := exchange{
				input:  drawItems(rt, "msg_u_"+id, `{"id":"%s","role":"user","content":"%s"}`),
				output: drawItems(rt, "msg_a_"+id, `{"id":"%s","type":"message","role":"assistant","content":[{"type":"output_text","text":"%s"}]}`),
			}
			got := w.turn(`{`+previous(before)+`"model":"m","input":[`+strings.Join(e.input, ",")+`],"x":[1]}`, answer(id, strings.Join(e.output, ",")))
			all := append(append([]string{}, said[before]...), e.input...)
			if want := `{"model":"m","input":[` + strings.Join(all, ",") + `],"x":[1]}`; got != want {
				rt.Fatalf("%s after %q: got\n%s\nwant\n%s", id, before, got, want)
			}
			said[id] = append(append([]string{}, said[before]...), e.items()...)
			ids = append(ids, id)
		}
	})
}

// FuzzExpand checks that the continuation of any stored response is JSON.
func FuzzExpand(f *testing.F) {
	f.Add(`[{"role":"user","content":"Hi"}]`, `[{"type":"reasoning"},{"type":"message","content":[{"text":"x"}]}]`, `[{"id":"a"}]`)
	f.Add(`"x"`, `[{"type":"reasoning","encrypted_content":"x"},{"id":"a","type":"function_call"},3,"x",[]]`, `[{"id":"a","type":"item_reference"}]`)
	f.Add(`[]`, `{"type":"message","content":"x"}`, `null`)
	w := newWorld(f)
	n := 0
	f.Fuzz(func(t *testing.T, input, output, next string) {
		for _, text := range []string{input, output, next} {
			if !json.Valid([]byte(text)) {
				return
			}
		}
		worktest.Check(t, []byte(`{"input":`+input+`}`), func(body []byte) { _, _, _ = w.Expand(t.Context(), owner("a"), body, nil, unbounded()) })
		n++
		id := fmt.Sprint("resp_", n)
		_, turn, err := w.Expand(t.Context(), owner("a"), []byte(`{"input":`+input+`}`), nil, unbounded())
		if err != nil {
			return
		}
		if err := w.Keep(t.Context(), owner("a"), turn, []byte(`{"id":"`+id+`","output":`+output+`}`)); err != nil {
			t.Fatalf("keep: %v", err)
		}
		body, _, err := w.Expand(t.Context(), owner("a"), []byte(`{`+previous(id)+`"input":`+next+`}`), nil, unbounded())
		if err == nil && !json.Valid(body) {
			t.Errorf("after %s and %s, %s becomes %s", input, output, next, body)
		}
		page := conversation.Page{Limit: 100, Ascending: true}
		listed, err := w.InputItems(t.Context(), owner("a"), id, page, unbounded())
		if err == nil && !json.Valid(listed) {
			t.Errorf("the input %s is listed as %s", input, listed)
		}
	})
}
