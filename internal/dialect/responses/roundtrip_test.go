package responses_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/dialect/responses"
	"weir/internal/llm"
	"weir/internal/sse"
)

type object = map[string]any

var (
	words = rapid.StringMatching(`[a-zA-Z0-9 "\\\n\té日😀/<>{}\[\]]{1,12}`)
	names = rapid.StringMatching(`[a-z]{1,8}`)
	odd   = rapid.SampledFrom([]any{object{"a": []any{1.0, nil}}, 7.0, "x", true})
)

// with adds members that may be left out.
func with(t *rapid.T, o object, members object) object {
	for name, v := range members {
		if rapid.Bool().Draw(t, name) {
			o[name] = v
		}
	}
	return o
}

// inputs are items as the encoder writes them: in the shortest form.
func inputs() *rapid.Generator[object] {
	kinds := []func(t *rapid.T) object{
		func(t *rapid.T) object { return object{"role": "system", "content": words.Draw(t, "text")} },
		func(t *rapid.T) object {
			return object{"role": "user", "content": rapid.SliceOfN(contents(), 2, 4).Draw(t, "parts")}
		},
		func(t *rapid.T) object { return object{"role": "assistant", "content": words.Draw(t, "text")} },
		func(t *rapid.T) object {
			said := object{"type": "output_text", "text": words.Draw(t, "text"), "annotations": []any{odd.Draw(t, "annotation")}, "logprobs": []any{}}
			refused := object{"type": "refusal", "refusal": words.Draw(t, "refusal")}
			return object{"type": "message", "id": names.Draw(t, "id"), "status": "completed", "role": "assistant", "content": []any{said, refused}}
		},
		func(t *rapid.T) object {
			return with(t, object{"type": "reasoning", "summary": []any{object{"type": "summary_text", "text": words.Draw(t, "thought")}}},
				object{"id": names.Draw(t, "id"), "encrypted_content": names.Draw(t, "secret"), "status": "completed"})
		},
		func(t *rapid.T) object {
			texts := []any{object{"type": "reasoning_text", "text": words.Draw(t, "thought")}}
			return object{"type": "reasoning", "id": names.Draw(t, "id"), "summary": []any{}, "content": texts}
		},
		func(t *rapid.T) object {
			return with(t, object{"type": "function_call", "call_id": names.Draw(t, "call"), "name": names.Draw(t, "name"), "arguments": words.Draw(t, "arguments")},
				object{"id": names.Draw(t, "id"), "status": "completed", "namespace": "n"})
		},
		func(t *rapid.T) object {
			return with(t, object{"type": "function_call_output", "call_id": names.Draw(t, "call"), "output": words.Draw(t, "output")}, object{"id": names.Draw(t, "id")})
		},
		func(t *rapid.T) object {
			return object{"type": "function_call_output", "call_id": names.Draw(t, "call"), "output": rapid.SliceOfN(contents(), 2, 3).Draw(t, "output")}
		},
		func(t *rapid.T) object {
			kind := rapid.SampledFrom([]string{"web_search_call", "custom_tool_call_output", "item_reference", "mcp_call"}).Draw(t, "type")
			return object{"type": kind, "id": names.Draw(t, "id"), "x": odd.Draw(t, "x")}
		},
	}
	return rapid.Custom(func(t *rapid.T) object { return rapid.SampledFrom(kinds).Draw(t, "kind")(t) })
}

func contents() *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		more := object{"x": odd.Draw(t, "x")}
		return rapid.SampledFrom([]object{
			with(t, object{"type": "input_text", "text": words.Draw(t, "text")}, more),
			with(t, object{"type": "input_image", "image_url": "https://example.com/a?b=\"c\"", "detail": "high"}, more),
			with(t, object{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}, more),
			with(t, object{"type": "input_file", "file_id": "file-1"}, more),
			with(t, object{"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}, more),
			with(t, object{"type": "input_new", "new": 1.0}, more),
		}).Draw(t, "part")
	})
}

// TestRequestRoundTrip holds that nothing of a request in this format's own
// words is lost on the way through the tree.
func TestRequestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := with(t, object{"model": names.Draw(t, "model"), "input": rapid.SliceOfN(inputs(), 1, 6).Draw(t, "input")}, object{
			"instructions": words.Draw(t, "instructions"), "temperature": 0.5, "top_p": 1.0, "max_output_tokens": 9.0, "stream": true, "user": "u",
			"reasoning":   with(t, object{"effort": "low"}, object{"summary": "auto"}),
			"text":        with(t, object{"format": object{"type": "json_schema", "name": "n", "schema": object{"a": 1.0}, "strict": true}}, object{"verbosity": "low"}),
			"tools":       []any{object{"type": "function", "name": "f", "parameters": object{}, "strict": false, "x": odd.Draw(t, "x")}, object{"type": "web_search"}},
			"tool_choice": rapid.SampledFrom([]any{"required", object{"type": "function", "name": "f"}, object{"type": "mcp"}}).Draw(t, "choice"),
			"store":       true, "include": []any{"x"}, "new": odd.Draw(t, "new"), "parallel_tool_calls": false,
		})
		sent, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		r, err := responses.DecodeRequest(sent)
		if err != nil {
			t.Fatalf("decode of %s: %v", sent, err)
		}
		body, dropped, err := responses.EncodeRequest(r, &llm.Quirks{})
		if err != nil || len(dropped) > 0 {
			t.Fatalf("encode of %s: dropped %q, error %v", sent, dropped, err)
		}
		if diff := cmp.Diff(generic(t, body), generic(t, sent)); diff != "" {
			t.Fatalf("by way of %s (-got +want)\n%s", body, diff)
		}
	})
}

func generic(t *rapid.T, body []byte) (v any) {
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return v
}

// answer is what a stream tells.
type answer struct {
	text, refusal, thought, secret string
	calls                          []string
	finish                         llm.FinishReason
	usage                          llm.Usage
	done                           bool
}

func (a *answer) add(ev *llm.Event) {
	switch ev.Kind {
	case llm.EventText:
		a.text += ev.Text
	case llm.EventRefusal:
		a.refusal += ev.Text
	case llm.EventReasoning:
		a.thought += ev.Text
		a.secret += ev.Redacted
	case llm.EventToolCall:
		if ev.Tool.ID != "" {
			a.calls = append(a.calls, fmt.Sprint(ev.Tool.Index, " ", ev.Tool.ID, " ", ev.Tool.Name, " "))
		}
		a.calls[ev.Tool.Index] += ev.Text
	case llm.EventFinish:
		a.finish = ev.Finish
	case llm.EventUsage:
		a.usage = ev.Usage
	case llm.EventDone:
		a.done = true
	}
}

// TestStreamRoundTrip holds that what an encoder writes a decoder reads, also
// when the deltas are lost on the way.
func TestStreamRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		enc, want := responses.NewEncoder(llm.Meta{ID: "r1"}), answer{finish: llm.FinishStop, usage: llm.Usage{llm.Input: 4, llm.CacheRead: 6, llm.Output: 3}, done: true}
		var stream []byte
		for _, ev := range rapid.SliceOfN(events(), 0, 12).Draw(t, "events") {
			if ev.Kind == llm.EventToolCall && len(want.calls) > 0 && rapid.Bool().Draw(t, "goes on") {
				ev.Tool = llm.ToolDelta{Index: rapid.IntRange(0, len(want.calls)-1).Draw(t, "call")}
			} else if ev.Kind == llm.EventToolCall {
				ev.Tool = llm.ToolDelta{Index: len(want.calls), ID: fmt.Sprint("call_", len(want.calls)), Name: "f"}
				want.finish = llm.FinishToolCalls
			}
			want.add(&ev)
			stream = enc.Append(stream, &ev)
		}
		stream = enc.Finish(stream, &llm.Final{Finish: []llm.FinishReason{want.finish}, Usage: want.usage, Reported: true})
		for _, lost := range []string{"", ".delta", ".delta .done", ".delta .done .added"} {
			if diff := cmp.Diff(readStream(t, stream, lost), want, cmp.AllowUnexported(answer{})); diff != "" {
				t.Fatalf("without %q, %s (-got +want)\n%s", lost, stream, diff)
			}
		}
	})
}

func events() *rapid.Generator[llm.Event] {
	return rapid.Custom(func(t *rapid.T) llm.Event {
		ev := llm.Event{
			Kind: rapid.SampledFrom([]llm.EventKind{llm.EventText, llm.EventRefusal, llm.EventReasoning, llm.EventToolCall}).Draw(t, "kind"),
			Text: words.Draw(t, "text"),
		}
		if ev.Kind == llm.EventReasoning && rapid.IntRange(0, 3).Draw(t, "secret") == 0 {
			ev.Text, ev.Redacted = "", "secret"
		}
		return ev
	})
}

// readStream decodes a stream without the events whose names end so.
func readStream(t *rapid.T, stream []byte, lost string) (a answer) {
	d, r := responses.NewDecoder(nil), sse.NewReader(bytes.NewReader(stream), 1<<20)
	for {
		frame, err := r.Next()
		if err != nil {
			return a
		}
		if i := bytes.LastIndexByte(frame.Name, '.'); lost != "" && bytes.Contains([]byte(lost), frame.Name[i:]) {
			continue
		}
		events, err := d.Decode(nil, frame)
		if err != nil {
			t.Fatalf("%s: %v", frame.Data, err)
		}
		for i := range events {
			a.add(&events[i])
		}
	}
}
