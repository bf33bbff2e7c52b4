package anthropic_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/dialect/anthropic"
	"weir/internal/llm"
)

// TestRequestRoundTrip holds that nothing of a request in this format's own
// words is lost between a tree and its bytes.
func TestRequestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := requests().Draw(t, "request")
		body, dropped, err := anthropic.EncodeRequest(want, &llm.Quirks{})
		if err != nil || len(dropped) > 0 {
			t.Fatalf("encode: dropped %q, error %v", dropped, err)
		}
		if _, err := anthropic.Scan(body, nil); err != nil {
			t.Fatalf("scan of %s: %v", body, err)
		}
		got, err := anthropic.DecodeRequest(body)
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
	base64s = rapid.StringMatching(`[A-Za-z0-9+/]{4}`)
	rawJSON = rapid.SampledFrom([]json.RawMessage{[]byte(`{"type":"object"}`), []byte(`{"a":[1,null]}`), []byte(`7`), []byte(`"x"`)})
	objects = rapid.SampledFrom([]json.RawMessage{[]byte(`{"type":"object"}`), []byte(`{"a":[1,{}]}`)})
	numbers = rapid.SampledFrom([]json.Number{"0", "0.70", "1", "2e-1"})
	caches  = rapid.SampledFrom([]json.RawMessage{nil, []byte(`{"type":"ephemeral"}`), []byte(`{"type":"ephemeral","ttl":"1h"}`)})
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
		limit := rapid.Int64Range(0, 1<<40).Draw(t, "max")
		r := &llm.Request{
			Model: rapid.SampledFrom([]string{"claude-opus-4-5", "claude-sonnet-5", "m"}).Draw(t, "model"), MaxOutput: &limit,
			Tools:       few(tools(), 0, 3).Draw(t, "tools"),
			Temperature: maybe(numbers).Draw(t, "temperature"),
			TopP:        maybe(numbers).Draw(t, "top_p"),
			TopK:        maybe(rapid.Int64Range(0, 100)).Draw(t, "top_k"),
			Stop:        few(words, 0, 4).Draw(t, "stop"),
			Reasoning:   thoughts().Draw(t, "reasoning"),
			ToolChoice:  maybe(choices()).Draw(t, "choice"),
			User:        rapid.SampledFrom([]string{"", "u-1"}).Draw(t, "user"),
			Stream:      rapid.Bool().Draw(t, "stream"),
			Extra:       extras().Draw(t, "extra"),
			ExtraOf:     anthropic.Name,
		}
		r.IncludeUsage = r.Stream // a stream always tells its usage
		if rapid.Bool().Draw(t, "system") {
			r.Messages = []llm.Message{{Role: llm.RoleSystem, Parts: few(texts(), 0, 2).Draw(t, "parts")}}
		}
		r.Messages = append(r.Messages, few(spoken(), 1, 1).Draw(t, "first")...)
		r.Messages = append(r.Messages, few(messages(), 0, 4).Draw(t, "messages")...)
		if rapid.Bool().Draw(t, "schema") {
			r.Format = &llm.Format{Kind: llm.FormatSchema, Schema: objects.Draw(t, "format")}
		}
		if r.ToolChoice != nil && r.ToolChoice.Mode != llm.ToolsNone {
			r.ParallelTools = maybe(rapid.Bool()).Draw(t, "parallel")
		}
		return r
	})
}

func thoughts() *rapid.Generator[*llm.ReasoningOptions] {
	return rapid.SampledFrom([]*llm.ReasoningOptions{
		nil,
		{Effort: "low"},
		{Raw: json.RawMessage(`{"type":"adaptive"}`)},
		{Raw: json.RawMessage(`{"type":"adaptive","display":"omitted"}`), Effort: "max"},
		{Raw: json.RawMessage(`{"type":"enabled","budget_tokens":2048}`), Budget: 2048},
		{Raw: json.RawMessage(`{"type":"enabled","budget_tokens":2048}`), Budget: 2048, Effort: "high"},
		{Raw: json.RawMessage(`{"type":"disabled"}`), Effort: "none"},
		{Raw: json.RawMessage(`{"type":"disabled"}`), Effort: "medium"},
	})
}

func tools() *rapid.Generator[llm.Tool] {
	return rapid.Custom(func(t *rapid.T) llm.Tool {
		if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
			return llm.Tool{Raw: json.RawMessage(`{"type":"web_search_20250305","name":"web_search"}`)}
		}
		return llm.Tool{
			Name: names.Draw(t, "name"), Strict: maybe(rapid.Bool()).Draw(t, "strict"),
			Description: rapid.SampledFrom([]string{"", "does\nthings"}).Draw(t, "description"),
			Parameters:  objects.Draw(t, "parameters"), Extra: extras().Draw(t, "extra"),
		}
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

// messages are also instructions in the middle of a conversation.
func messages() *rapid.Generator[llm.Message] {
	return rapid.OneOf(spoken(), rapid.Custom(func(t *rapid.T) llm.Message {
		return llm.Message{Role: llm.RoleSystem, Parts: few(texts(), 1, 2).Draw(t, "parts"), Extra: extras().Draw(t, "extra")}
	}))
}

func spoken() *rapid.Generator[llm.Message] {
	return rapid.Custom(func(t *rapid.T) llm.Message {
		m := llm.Message{Role: llm.RoleUser, Extra: extras().Draw(t, "extra")}
		if rapid.Bool().Draw(t, "assistant") {
			m.Role = llm.RoleAssistant
			m.Parts = few(rapid.OneOf(texts(), thinking(), calls(), others()), 0, 4).Draw(t, "parts")
			return m
		}
		m.Parts = few(rapid.OneOf(texts(), media(), results(), others()), 0, 4).Draw(t, "parts")
		return m
	})
}

func texts() *rapid.Generator[llm.Part] {
	return rapid.Custom(func(t *rapid.T) llm.Part {
		p := marked(t, llm.Part{Kind: llm.PartText, Text: words.Draw(t, "text")})
		if rapid.Bool().Draw(t, "cites") {
			p.Annotations = json.RawMessage(`[{"type":"char_location"}]`)
		}
		return p
	})
}

func thinking() *rapid.Generator[llm.Part] {
	return rapid.Custom(func(t *rapid.T) llm.Part {
		if rapid.Bool().Draw(t, "redacted") {
			return llm.Part{Kind: llm.PartReasoning, Redacted: base64s.Draw(t, "data")}
		}
		return llm.Part{Kind: llm.PartReasoning, Text: words.Draw(t, "thought"), Signature: base64s.Draw(t, "signature")}
	})
}

func calls() *rapid.Generator[llm.Part] {
	return rapid.Custom(func(t *rapid.T) llm.Part {
		return llm.Part{
			Kind: llm.PartToolCall, CacheControl: caches.Draw(t, "cache"),
			Call: &llm.ToolCall{
				ID: names.Draw(t, "id"), Name: names.Draw(t, "name"), Extra: extras().Draw(t, "extra"),
				Arguments: rapid.SampledFrom([]string{`{}`, `{"x": 1}`, `{"x":`, `not "JSON"`}).Draw(t, "arguments"),
			},
		}
	})
}

func others() *rapid.Generator[llm.Part] {
	return rapid.SampledFrom([]llm.Part{
		{Kind: llm.PartOther, Raw: json.RawMessage(`{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`)},
		{Kind: llm.PartOther, Raw: json.RawMessage(`{"type":"document","source":{"type":"content","content":"x"}}`)},
	})
}

func results() *rapid.Generator[llm.Part] {
	return rapid.Custom(func(t *rapid.T) llm.Part {
		return marked(t, llm.Part{Kind: llm.PartToolResult, Result: &llm.ToolResult{
			CallID: names.Draw(t, "call"), IsError: rapid.Bool().Draw(t, "error"),
			Parts: few(rapid.OneOf(texts(), media()), 0, 2).Draw(t, "content"),
		}})
	})
}

func marked(t *rapid.T, p llm.Part) llm.Part {
	p.Extra, p.CacheControl = extras().Draw(t, "extra"), caches.Draw(t, "cache")
	return p
}

func media() *rapid.Generator[llm.Part] {
	return rapid.Custom(func(t *rapid.T) llm.Part {
		data := base64s.Draw(t, "data")
		return marked(t, rapid.SampledFrom([]llm.Part{
			{Kind: llm.PartImage, Media: &llm.Media{URL: "https://example.com/a?b=\"c\""}},
			{Kind: llm.PartImage, Media: &llm.Media{MIME: "image/png", Data: data}},
			{Kind: llm.PartImage, Media: &llm.Media{FileID: "file_1"}},
			{Kind: llm.PartDocument, Media: &llm.Media{FileID: "file_1", Name: "A"}},
			{Kind: llm.PartDocument, Media: &llm.Media{MIME: "application/pdf", Data: data, Name: "a.pdf"}},
			{Kind: llm.PartDocument, Media: &llm.Media{MIME: "text/plain", Data: "UGxhaW4gw6kK"}},
			{Kind: llm.PartDocument, Media: &llm.Media{URL: "https://example.com/a.pdf"}},
		}).Draw(t, "media"))
	})
}
