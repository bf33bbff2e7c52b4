package ollama_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/dialect/ollama"
	"weir/internal/llm"
)

// TestRequestRoundTrip holds that nothing of a request in this format's own
// words is lost between a tree and its bytes.
func TestRequestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := requests().Draw(t, "request")
		body, dropped, err := ollama.EncodeRequest(want, &llm.Quirks{})
		if err != nil || len(dropped) > 0 {
			t.Fatalf("encode: dropped %q, error %v", dropped, err)
		}
		if head, err := ollama.Scan(body, nil); err != nil || head.Stream != want.Stream {
			t.Fatalf("scan of %s: %+v, %v", body, head, err)
		}
		got, err := ollama.DecodeRequest(body)
		if err != nil {
			t.Fatalf("decode of %s: %v", body, err)
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Fatalf("by way of %s (-got +want)\n%s", body, diff)
		}
	})
}

var (
	words   = rapid.StringMatching(`[a-zA-Z0-9 "\\\n\té日😀/<>{}\[\]]{1,12}`)
	names   = rapid.StringMatching(`[a-z]{1,8}`)
	rawJSON = rapid.SampledFrom([]json.RawMessage{[]byte(`{"type":"object"}`), []byte(`{"a":[1,null]}`), []byte(`7`), []byte(`"x"`)})
	objects = rapid.SampledFrom([]json.RawMessage{[]byte(`{"type":"object"}`), []byte(`{"a":[1,{}]}`)})
	numbers = rapid.SampledFrom([]json.Number{"0", "0.70", "1", "2e-1"})
)

// maybe is nil, or a pointer to what g gives.
func maybe[T any](g *rapid.Generator[T]) *rapid.Generator[*T] {
	return rapid.Custom(func(t *rapid.T) *T {
		if rapid.Bool().Draw(t, "absent") {
			return nil
		}
		return new(g.Draw(t, "value"))
	})
}

// few is a slice of up to n, nil when empty.
func few[T any](g *rapid.Generator[T], least, n int) *rapid.Generator[[]T] {
	return rapid.Custom(func(t *rapid.T) (list []T) {
		for range rapid.IntRange(least, n).Draw(t, "length") {
			list = append(list, g.Draw(t, "element"))
		}
		return list
	})
}

func extras(names ...string) *rapid.Generator[[]llm.Field] {
	return rapid.Custom(func(t *rapid.T) (list []llm.Field) {
		for _, name := range names {
			if rapid.Bool().Draw(t, "extra") {
				list = append(list, llm.Field{Name: name, Value: rawJSON.Draw(t, "value")})
			}
		}
		return list
	})
}

func requests() *rapid.Generator[*llm.Request] {
	return rapid.Custom(func(t *rapid.T) *llm.Request {
		r := &llm.Request{
			Model:            names.Draw(t, "model"),
			Tools:            few(tools(), 0, 3).Draw(t, "tools"),
			MaxOutput:        maybe(rapid.Int64Range(1, 1<<40)).Draw(t, "max"),
			Temperature:      maybe(numbers).Draw(t, "temperature"),
			TopP:             maybe(numbers).Draw(t, "top_p"),
			TopK:             maybe(rapid.Int64Range(-1, 1000)).Draw(t, "top_k"),
			FrequencyPenalty: maybe(numbers).Draw(t, "frequency"),
			PresencePenalty:  maybe(numbers).Draw(t, "presence"),
			Seed:             maybe(rapid.Int64()).Draw(t, "seed"),
			Stop:             few(words, 0, 6).Draw(t, "stop"),
			Format:           maybe(formats()).Draw(t, "format"),
			Stream:           rapid.Bool().Draw(t, "stream"),
			Extra:            extras("options.num_ctx", "options.x \"y\"", "keep_alive", "x \"two\"").Draw(t, "extra"),
			ExtraOf:          ollama.Name,
		}
		r.IncludeUsage = r.Stream
		if effort := rapid.SampledFrom([]string{"", "none", "low", "medium", "high", "max"}).Draw(t, "think"); effort != "" {
			r.Reasoning = &llm.ReasoningOptions{Effort: effort}
		}
		var c conversation
		for range rapid.IntRange(1, 5).Draw(t, "messages") {
			r.Messages = append(r.Messages, c.message(t))
		}
		return r
	})
}

func tools() *rapid.Generator[llm.Tool] {
	return rapid.Custom(func(t *rapid.T) llm.Tool {
		if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
			return llm.Tool{Raw: json.RawMessage(`{"type":"search","search":{}}`)}
		}
		tool := llm.Tool{Name: names.Draw(t, "name"), Extra: extras("strict").Draw(t, "extra")}
		tool.Description = rapid.SampledFrom([]string{"", "does\nthings"}).Draw(t, "description")
		if p := maybe(objects).Draw(t, "parameters"); p != nil {
			tool.Parameters = *p
		}
		return tool
	})
}

func formats() *rapid.Generator[llm.Format] {
	return rapid.SampledFrom([]llm.Format{
		{Kind: llm.FormatJSON}, {Kind: llm.FormatSchema, Schema: json.RawMessage(`{"type":"object"}`)},
	})
}

// conversation makes messages whose results answer its calls, each once.
type conversation struct {
	made int
	open []llm.ToolCall
}

func (c *conversation) message(t *rapid.T) llm.Message {
	roles := []llm.Role{llm.RoleSystem, llm.RoleUser, llm.RoleAssistant}
	if len(c.open) > 0 {
		roles = append(roles, llm.RoleTool)
	}
	m := llm.Message{Role: rapid.SampledFrom(roles).Draw(t, "role"), Extra: extras("x_one").Draw(t, "extra")}
	switch m.Role {
	case llm.RoleAssistant:
		m.Parts = c.turn(t)
	case llm.RoleTool:
		i := rapid.IntRange(0, len(c.open)-1).Draw(t, "answers")
		call := c.open[i]
		c.open = append(c.open[:i:i], c.open[i+1:]...)
		m.Parts = []llm.Part{{Kind: llm.PartToolResult, Result: &llm.ToolResult{CallID: call.ID, Name: call.Name, Parts: content(t)}}}
	default:
		m.Parts = content(t)
	}
	return m
}

// content is a text and images, each of which may be missing.
func content(t *rapid.T) (parts []llm.Part) {
	if rapid.Bool().Draw(t, "says") {
		parts = append(parts, llm.Part{Kind: llm.PartText, Text: words.Draw(t, "text")})
	}
	return append(parts, few(rapid.SampledFrom([]llm.Part{
		{Kind: llm.PartImage, Media: &llm.Media{MIME: "image/png", Data: "iVBORw0KGgo="}},
		{Kind: llm.PartImage, Media: &llm.Media{MIME: "image/jpeg", Data: "/9j/4AAQ"}},
		{Kind: llm.PartImage, Media: &llm.Media{Data: "AAAA"}},
	}), 0, 2).Draw(t, "images")...)
}

// turn is an assistant's: thinking, words, calls.
func (c *conversation) turn(t *rapid.T) (parts []llm.Part) {
	if rapid.Bool().Draw(t, "thinks") {
		parts = append(parts, llm.Part{Kind: llm.PartReasoning, Text: words.Draw(t, "thought")})
	}
	parts = append(parts, content(t)...)
	for range rapid.IntRange(0, 2).Draw(t, "calls") {
		call := llm.ToolCall{
			ID: fmt.Sprintf("c%d", c.made), Name: names.Draw(t, "name"),
			Arguments: rapid.SampledFrom([]string{`{}`, `{"a": [1, "b\n"]}`}).Draw(t, "arguments"), Extra: extras("x_two").Draw(t, "extra"),
		}
		c.made++
		c.open = append(c.open, call)
		parts = append(parts, llm.Part{Kind: llm.PartToolCall, Call: &call})
	}
	return parts
}
