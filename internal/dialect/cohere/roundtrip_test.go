package cohere_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/dialect/cohere"
	"weir/internal/llm"
)

// TestRequestRoundTrip holds that nothing of a request in this format's own
// words is lost between a tree and its bytes.
func TestRequestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := requests().Draw(t, "request")
		body, dropped, err := cohere.EncodeRequest(want, &llm.Quirks{})
		if err != nil || len(dropped) > 0 {
			t.Fatalf("encode: dropped %q, error %v", dropped, err)
		}
		if _, err := cohere.Scan(body, nil); err != nil {
			t.Fatalf("scan of %s: %v", body, err)
		}
		got, err := cohere.DecodeRequest(body)
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

func extras() *rapid.Generator[[]llm.Field] {
	return rapid.Custom(func(t *rapid.T) (list []llm.Field) {
		for _, name := range []string{"x_one", "x \"two\""} {
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
			Model: names.Draw(t, "model"), Messages: few(messages(), 1, 5).Draw(t, "messages"),
			Tools:            few(tools(), 0, 3).Draw(t, "tools"),
			MaxOutput:        maybe(rapid.Int64Range(1, 1<<40)).Draw(t, "max"),
			Temperature:      maybe(numbers).Draw(t, "temperature"),
			TopP:             maybe(numbers).Draw(t, "p"),
			TopK:             maybe(rapid.Int64Range(0, 1000)).Draw(t, "k"),
			FrequencyPenalty: maybe(numbers).Draw(t, "frequency"),
			PresencePenalty:  maybe(numbers).Draw(t, "presence"),
			Seed:             maybe(rapid.Int64()).Draw(t, "seed"),
			Stop:             few(words, 0, 6).Draw(t, "stop"),
			Format:           maybe(formats()).Draw(t, "format"),
			Reasoning: rapid.SampledFrom([]*llm.ReasoningOptions{
				nil, {Effort: "none"}, {Effort: "high"}, {Budget: 500},
			}).Draw(t, "thinking"),
			Stream:  rapid.Bool().Draw(t, "stream"),
			Extra:   extras().Draw(t, "extra"),
			ExtraOf: cohere.Name,
		}
		r.IncludeUsage = r.Stream
		r.ToolChoice = maybe(choices()).Draw(t, "choice")
		if strict := maybe(rapid.Bool()).Draw(t, "strict"); strict != nil {
			for i := range r.Tools {
				r.Tools[i].Strict = strict
			}
		}
		return r
	})
}

func tools() *rapid.Generator[llm.Tool] {
	return rapid.Custom(func(t *rapid.T) llm.Tool {
		if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
			return llm.Tool{Raw: json.RawMessage(`{"type":"custom","custom":{"name":"g"}}`)}
		}
		tool := llm.Tool{Name: names.Draw(t, "name"), Extra: extras().Draw(t, "extra")}
		tool.Description = rapid.SampledFrom([]string{"", "does\nthings"}).Draw(t, "description")
		if p := maybe(objects).Draw(t, "parameters"); p != nil {
			tool.Parameters = *p
		}
		return tool
	})
}

func choices() *rapid.Generator[llm.ToolChoice] {
	return rapid.SampledFrom([]llm.ToolChoice{{Mode: llm.ToolsNone}, {Mode: llm.ToolsRequired}})
}

func formats() *rapid.Generator[llm.Format] {
	return rapid.Custom(func(t *rapid.T) llm.Format {
		f := llm.Format{Kind: rapid.SampledFrom([]llm.FormatKind{llm.FormatText, llm.FormatJSON, llm.FormatSchema}).Draw(t, "kind")}
		if f.Kind == llm.FormatSchema {
			f.Schema = objects.Draw(t, "schema")
		}
		return f
	})
}

func messages() *rapid.Generator[llm.Message] {
	return rapid.Custom(func(t *rapid.T) llm.Message {
		m := llm.Message{
			Role:  rapid.SampledFrom([]llm.Role{llm.RoleSystem, llm.RoleUser, llm.RoleAssistant, llm.RoleTool}).Draw(t, "role"),
			Extra: extras().Draw(t, "extra"),
		}
		switch m.Role {
		case llm.RoleAssistant:
			m.Parts = turn(t)
		case llm.RoleTool:
			m.Parts = []llm.Part{{Kind: llm.PartToolResult, Result: &llm.ToolResult{
				CallID: names.Draw(t, "call"), Parts: few(rapid.OneOf(texts(), documents()), 0, 2).Draw(t, "result"),
			}}}
		case llm.RoleUser:
			m.Parts = few(rapid.OneOf(texts(), images(), documents()), 0, 4).Draw(t, "parts")
		default:
			m.Parts = few(texts(), 0, 2).Draw(t, "parts")
		}
		return m
	})
}

// turn is an assistant's: thinking and words, a plan, calls.
func turn(t *rapid.T) (parts []llm.Part) {
	if rapid.Bool().Draw(t, "thinks") {
		parts = append(parts, llm.Part{Kind: llm.PartReasoning, Text: words.Draw(t, "thought"), Extra: extras().Draw(t, "extra")})
	}
	if said := few(texts(), 0, 2).Draw(t, "words"); len(said) > 0 {
		if c := maybe(objects).Draw(t, "citations"); c != nil {
			said[0].Annotations = *c
		}
		parts = append(parts, said...)
	}
	if rapid.Bool().Draw(t, "plans") {
		plan := []llm.Field{{Name: "tool_plan", Value: json.RawMessage("true")}}
		parts = append(parts, llm.Part{Kind: llm.PartReasoning, Text: words.Draw(t, "plan"), Extra: plan})
	}
	for range rapid.IntRange(0, 2).Draw(t, "calls") {
		parts = append(parts, llm.Part{Kind: llm.PartToolCall, Call: &llm.ToolCall{
			ID: names.Draw(t, "id"), Name: names.Draw(t, "name"), Arguments: words.Draw(t, "arguments"), Extra: extras().Draw(t, "extra"),
		}})
	}
	return parts
}

func texts() *rapid.Generator[llm.Part] {
	return rapid.Custom(func(t *rapid.T) llm.Part {
		text := rapid.OneOf(words, rapid.Just("")).Draw(t, "text")
		return llm.Part{Kind: llm.PartText, Text: text, Extra: extras().Draw(t, "extra")}
	})
}

func images() *rapid.Generator[llm.Part] {
	return rapid.Custom(func(t *rapid.T) llm.Part {
		return rapid.SampledFrom([]llm.Part{
			{Kind: llm.PartImage, Media: &llm.Media{URL: "https://example.com/a?b=\"c\"", Detail: "high"}},
			{Kind: llm.PartImage, Media: &llm.Media{MIME: "image/png", Data: "AAAA"}},
		}).Draw(t, "image")
	})
}

func documents() *rapid.Generator[llm.Part] {
	return rapid.Just(llm.Part{Kind: llm.PartOther, Raw: json.RawMessage(`{"type":"document","document":{"id":"d","data":{}}}`)})
}
