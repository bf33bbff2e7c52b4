package openai_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/internal/dialect/openai"
	"weir/internal/llm"
	"weir/internal/sse"
)

// TestEarlyArgumentsWaitForTheirName checks that arguments that arrive before the name of their call wait for it,
// after any searches and citations.
func TestEarlyArgumentsWaitForTheirName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("q", 2<<20)
	for name, told := range map[string]string{
		"a search":   fmt.Sprintf(`{"executed_tools":[{"index":0,"type":"search","arguments":%q}]}`, `{"query":"`+long+`"}`),
		"a citation": fmt.Sprintf(`{"annotations":[{"type":"url_citation","url_citation":{"url":"https://a.example","title":%q}}]}`, long),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openai.NewDecoder(&llm.Quirks{})
			var events []llm.Event
			for _, delta := range []string{
				told,
				`{"tool_calls":[{"index":0,"id":"call_1","function":{"arguments":"{}"}}]}`,
				`{"tool_calls":[{"index":0,"function":{"name":"rain"}}]}`,
				`{"tool_calls":[{"index":1,"id":"call_2","function":{"name":"snow","arguments":"{}"}}]}`,
			} {
				var err error
				frame := sse.Event{Data: []byte(`{"id":"c","model":"m","choices":[{"index":0,"delta":` + delta + `}]}`)}
				if events, err = d.Decode(events, frame); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for _, ev := range events {
				if ev.Kind == llm.EventToolCall && ev.Tool.ID != "" {
					got = append(got, ev.Tool.Name)
				}
			}
			if fmt.Sprint(got) != "[rain snow]" {
				t.Errorf("calls %q, want [rain snow]", got)
			}
			if d.Size() < len(long) {
				t.Errorf("%d bytes are retained, want at least %d", d.Size(), len(long))
			}
		})
	}
}

// TestSignaturesWithSources checks that a thought retains its signature, with any citations in the answer.
func TestSignaturesWithSources(t *testing.T) {
	t.Parallel()
	e := openai.NewEncoder(llm.Meta{})
	title := strings.Repeat("t", 5<<20)
	out := e.Append(nil, &llm.Event{Kind: llm.EventText, Text: "rain"})
	e.Append(nil, &llm.Event{Kind: llm.EventClaim, Claim: &llm.Claim{End: 4, Source: llm.Source{URL: "https://a.example", Title: title}}})
	out = e.Append(out, &llm.Event{Kind: llm.EventReasoning, Text: "hm"})
	out = e.Append(out, &llm.Event{Kind: llm.EventReasoning, Signature: "proof", Maker: "anthropic"})
	if want := `"reasoning_details":[`; !strings.Contains(string(out), want) {
		t.Errorf("got %s, want %s", out, want)
	}
	if e.Size() < len(title) {
		t.Errorf("%d bytes are retained, want at least %d", e.Size(), len(title))
	}
}
