package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/dialect/openai"
	"weir/internal/llm"
)

// TestRequestRoundTrip holds that nothing of a request in this format's own
// words is lost between a tree and its bytes.
func TestRequestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := requests().Draw(t, "request")
		body, dropped, err := openai.EncodeRequest(want, &llm.Quirks{})
		if err != nil || len(dropped) > 0 {
			t.Fatalf("encode: dropped %q, error %v", dropped, err)
		}
		if _, err := openai.Scan(body, nil); err != nil {
			t.Fatalf("scan of %s: %v", body, err)
		}
		got, err := openai.DecodeRequest(body)
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
	base64s = rapid.StringMatching(`[A-Za-z0-9+/]{4,12}`)
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
		v := g.Draw(t, "value")
		return &v
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
			TopP:             maybe(numbers).Draw(t, "top_p"),
			TopK:             maybe(rapid.Int64Range(0, 100)).Draw(t, "top_k"),
			FrequencyPenalty: maybe(numbers).Draw(t, "frequency"),
			PresencePenalty:  maybe(numbers).Draw(t, "presence"),
			Seed:             maybe(rapid.Int64()).Draw(t, "seed"),
			Stop:             few(words, 0, 4).Draw(t, "stop"),
			Choices:          maybe(rapid.Int64Range(1, 128)).Draw(t, "n"),
			Format:           maybe(formats()).Draw(t, "format"),
			User:             rapid.SampledFrom([]string{"", "u-1"}).Draw(t, "user"),
			Stream:           rapid.Bool().Draw(t, "stream"),
			Extra:            extras().Draw(t, "extra"),
			ExtraOf:          openai.Name,
		}
		r.IncludeUsage = r.Stream // a stream always asks for its usage
		if effort := rapid.SampledFrom([]string{"", "low", "xhigh"}).Draw(t, "effort"); effort != "" {
			r.Reasoning = &llm.ReasoningOptions{Effort: effort}
		}
		if len(r.Tools) > 0 {
			r.ToolChoice = maybe(choices()).Draw(t, "choice")
			r.ParallelTools = maybe(rapid.Bool()).Draw(t, "parallel")
		}
		return r
	})
}

func tools() *rapid.Generator[llm.Tool] {
	return rapid.Custom(func(t *rapid.T) llm.Tool {
		if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
			return llm.Tool{Raw: json.RawMessage(`{"type":"custom","custom":{"name":"g"}}`)}
		}
		tool := llm.Tool{Name: names.Draw(t, "name"), Strict: maybe(rapid.Bool()).Draw(t, "strict")}
		tool.Description = rapid.SampledFrom([]string{"", "does\nthings"}).Draw(t, "description")
		if p := maybe(objects).Draw(t, "parameters"); p != nil {
			tool.Parameters = *p
		}
		return tool
	})
}

func choices() *rapid.Generator[llm.ToolChoice] {
	return rapid.Custom(func(t *rapid.T) llm.ToolChoice {
		c := llm.ToolChoice{Mode: rapid.SampledFrom([]llm.ToolMode{llm.ToolsAuto, llm.ToolsNone, llm.ToolsRequired, llm.ToolsNamed}).Draw(t, "mode")}
		if c.Mode == llm.ToolsNamed {
			c.Name = names.Draw(t, "name")
		}
		return c
	})
}

func formats() *rapid.Generator[llm.Format] {
	return rapid.Custom(func(t *rapid.T) llm.Format {
		f := llm.Format{Kind: rapid.SampledFrom([]llm.FormatKind{llm.FormatText, llm.FormatJSON, llm.FormatSchema}).Draw(t, "kind")}
		if f.Kind == llm.FormatSchema {
			f.Name, f.Schema = names.Draw(t, "name"), objects.Draw(t, "schema")
			f.Strict = maybe(rapid.Bool()).Draw(t, "strict")
			f.Description = rapid.SampledFrom([]string{"", "d"}).Draw(t, "description")
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
				CallID: names.Draw(t, "call"), Name: rapid.SampledFrom([]string{"", "f"}).Draw(t, "name"),
				Parts: few(texts(), 0, 2).Draw(t, "result"),
			}}}
			return m
		case llm.RoleUser:
			m.Parts = few(rapid.OneOf(texts(), media()), 0, 4).Draw(t, "parts")
		default:
			m.Parts = few(texts(), 0, 2).Draw(t, "parts")
		}
		m.Name = rapid.SampledFrom([]string{"", "ann"}).Draw(t, "name")
		return m
	})
}

// turn is an assistant's: thinking, words, a refusal, calls.
func turn(t *rapid.T) (parts []llm.Part) {
	if rapid.Bool().Draw(t, "thinks") {
		parts = append(parts, llm.Part{Kind: llm.PartReasoning, Text: words.Draw(t, "thought")})
	}
	parts = append(parts, few(texts(), 0, 2).Draw(t, "words")...)
	if rapid.Bool().Draw(t, "refuses") {
		parts = append(parts, llm.Part{Kind: llm.PartRefusal, Text: words.Draw(t, "refusal")})
	}
	for range rapid.IntRange(0, 2).Draw(t, "calls") {
		c := &llm.ToolCall{ID: names.Draw(t, "id"), Name: names.Draw(t, "name"), Arguments: words.Draw(t, "arguments")}
		if rapid.IntRange(0, 3).Draw(t, "custom") == 0 {
			c.Extra = []llm.Field{{Name: "type", Value: json.RawMessage(`"custom"`)}}
		}
		parts = append(parts, llm.Part{Kind: llm.PartToolCall, Call: c})
	}
	return parts
}

func texts() *rapid.Generator[llm.Part] {
	return rapid.Custom(func(t *rapid.T) llm.Part {
		return marked(t, llm.Part{Kind: llm.PartText, Text: words.Draw(t, "text")})
	})
}

func marked(t *rapid.T, p llm.Part) llm.Part {
	p.Extra = extras().Draw(t, "extra")
	if c := maybe(objects).Draw(t, "cache"); c != nil {
		p.CacheControl = *c
	}
	return p
}

func media() *rapid.Generator[llm.Part] {
	return rapid.Custom(func(t *rapid.T) llm.Part {
		data := base64s.Draw(t, "data")
		return marked(t, rapid.SampledFrom([]llm.Part{
			{Kind: llm.PartImage, Media: &llm.Media{URL: "https://example.com/a?b=\"c\"", Detail: "high"}},
			{Kind: llm.PartImage, Media: &llm.Media{MIME: "image/png", Data: data}},
			{Kind: llm.PartAudio, Media: &llm.Media{Data: data, Format: "wav"}},
			{Kind: llm.PartDocument, Media: &llm.Media{FileID: "file-1"}},
			{Kind: llm.PartDocument, Media: &llm.Media{MIME: "application/pdf", Data: data, Name: "a.pdf"}},
			{Kind: llm.PartDocument, Media: &llm.Media{Data: data}},
		}).Draw(t, "media"))
	})
}
