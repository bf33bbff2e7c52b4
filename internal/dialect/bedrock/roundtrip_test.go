package bedrock_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/dialect/bedrock"
	"weir/internal/llm"
)

// TestRequestRoundTrip holds that nothing of a request in this format's own
// words is lost between a tree and its bytes.
func TestRequestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := requests().Draw(t, "request")
		body, dropped, err := bedrock.EncodeRequest(want, &llm.Quirks{})
		if err != nil || len(dropped) > 0 {
			t.Fatalf("encode: dropped %q, error %v", dropped, err)
		}
		if _, err := bedrock.Scan(body, at("m/converse")); err != nil {
			t.Fatalf("scan of %s: %v", body, err)
		}
		got, err := bedrock.DecodeRequest(body)
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
	rawJSON = rapid.SampledFrom([]json.RawMessage{[]byte(`{"type":"object"}`), []byte(`[1,null]`), []byte(`7`), []byte(`"x"`)})
	objects = rapid.SampledFrom([]json.RawMessage{[]byte(`{"type":"object"}`), []byte(`{"a":[1,{}]}`), []byte(`{}`)})
	numbers = rapid.SampledFrom([]json.Number{"0", "0.70", "1", "2e-1"})
	marks   = rapid.SampledFrom([]json.RawMessage{nil, nil, []byte(`{"type":"ephemeral"}`), []byte(`{"type":"ephemeral","ttl":"1h"}`), []byte(`{"type":"ephemeral","ttl":"5m"}`)})
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

func requests() *rapid.Generator[*llm.Request] {
	return rapid.Custom(func(t *rapid.T) *llm.Request {
		r := &llm.Request{
			ExtraOf:     bedrock.Name,
			Tools:       few(tools(), 0, 3).Draw(t, "tools"),
			MaxOutput:   maybe(rapid.Int64Range(1, 1<<40)).Draw(t, "max"),
			Temperature: maybe(numbers).Draw(t, "temperature"),
			TopP:        maybe(numbers).Draw(t, "top_p"),
			TopK:        maybe(rapid.Int64Range(0, 100)).Draw(t, "top_k"),
			Stop:        few(words, 0, 4).Draw(t, "stop"),
		}
		if system := few(texts(), 0, 2).Draw(t, "system"); system != nil {
			r.Messages = append(r.Messages, llm.Message{Role: llm.RoleSystem, Parts: system})
		}
		// One message at least is neither the system prompt nor taken for it.
		r.Messages = append(r.Messages, llm.Message{Role: llm.RoleUser, Parts: few(texts(), 0, 2).Draw(t, "first")})
		r.Messages = append(r.Messages, few(messages(), 0, 4).Draw(t, "messages")...)
		options(t, r)
		return r
	})
}

func options(t *rapid.T, r *llm.Request) {
	if rapid.Bool().Draw(t, "thinks") {
		r.Reasoning = rapid.SampledFrom([]*llm.ReasoningOptions{{Budget: 2048}, {Effort: "none"}, {Effort: "xhigh"}, {Effort: "low", Budget: 1024}}).Draw(t, "reasoning")
	}
	if len(r.Tools) > 0 && rapid.Bool().Draw(t, "chooses") {
		r.ToolChoice = rapid.SampledFrom([]*llm.ToolChoice{{Mode: llm.ToolsAuto}, {Mode: llm.ToolsRequired}, {Mode: llm.ToolsNamed, Name: "f"}}).Draw(t, "choice")
	}
	if rapid.Bool().Draw(t, "formatted") {
		r.Format = &llm.Format{Kind: llm.FormatSchema, Name: names.Draw(t, "name"), Description: rapid.SampledFrom([]string{"", "d"}).Draw(t, "description"), Schema: objects.Draw(t, "schema")}
	}
	for _, name := range []string{"guardrailConfig", "x \"two\""} {
		if rapid.Bool().Draw(t, "extra") {
			r.Extra = append(r.Extra, llm.Field{Name: name, Value: rawJSON.Draw(t, "value")})
		}
	}
}

func tools() *rapid.Generator[llm.Tool] {
	return rapid.Custom(func(t *rapid.T) llm.Tool {
		tool := llm.Tool{Raw: json.RawMessage(`{"systemTool":{"name":"g"}}`)}
		if rapid.IntRange(0, 4).Draw(t, "kind") > 0 {
			tool = llm.Tool{Name: names.Draw(t, "name"), Strict: maybe(rapid.Bool()).Draw(t, "strict"), Parameters: objects.Draw(t, "parameters")}
			tool.Description = rapid.SampledFrom([]string{"", "does\nthings"}).Draw(t, "description")
		}
		tool.CacheControl = marks.Draw(t, "cache")
		return tool
	})
}

func messages() *rapid.Generator[llm.Message] {
	return rapid.Custom(func(t *rapid.T) llm.Message {
		m := llm.Message{Role: rapid.SampledFrom([]llm.Role{llm.RoleSystem, llm.RoleUser, llm.RoleAssistant}).Draw(t, "role")}
		switch m.Role {
		case llm.RoleAssistant:
			m.Parts = few(rapid.OneOf(texts(), turns()), 0, 4).Draw(t, "turn")
		case llm.RoleUser:
			m.Parts = few(rapid.OneOf(texts(), media(), results()), 0, 4).Draw(t, "parts")
		default:
			m.Parts = few(texts(), 0, 2).Draw(t, "parts")
		}
		if rapid.IntRange(0, 4).Draw(t, "extra") == 0 {
			m.Extra = []llm.Field{{Name: "x", Value: rawJSON.Draw(t, "value")}}
		}
		return m
	})
}

func texts() *rapid.Generator[llm.Part] {
	return rapid.Custom(func(t *rapid.T) llm.Part {
		return llm.Part{Kind: llm.PartText, Text: words.Draw(t, "text"), CacheControl: marks.Draw(t, "cache")}
	})
}

// turns are the parts that the assistant alone has.
func turns() *rapid.Generator[llm.Part] {
	return rapid.Custom(func(t *rapid.T) llm.Part {
		p := rapid.SampledFrom([]llm.Part{
			{Kind: llm.PartReasoning, Text: "Hm.", Signature: "s"},
			{Kind: llm.PartReasoning, Text: "Hm."},
			{Kind: llm.PartReasoning, Redacted: "ZW5j"},
			{Kind: llm.PartText, Text: "Rain.", Annotations: json.RawMessage(`[{"title":"t"}]`)},
			{Kind: llm.PartOther, Raw: json.RawMessage(`{"toolUse":{"name":"g","type":"server_tool_use"}}`)},
			{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "t1", Name: "f", Arguments: `{"x":[1,"\u00e9"]}`}},
		}).Draw(t, "part")
		p.CacheControl = marks.Draw(t, "cache")
		return p
	})
}

func media() *rapid.Generator[llm.Part] {
	return rapid.Custom(func(t *rapid.T) llm.Part {
		data := base64s.Draw(t, "data")
		p := rapid.SampledFrom([]llm.Part{
			{Kind: llm.PartImage, Media: &llm.Media{MIME: "image/png", Data: data}},
			{Kind: llm.PartImage, Media: &llm.Media{MIME: "image/webp", FileID: "s3://b/a"}},
			{Kind: llm.PartAudio, Media: &llm.Media{MIME: "audio/mpeg", Format: "mpga", Data: data}},
			{Kind: llm.PartDocument, Media: &llm.Media{MIME: "application/pdf", Name: "a (1)", Data: data}},
			{Kind: llm.PartDocument, Media: &llm.Media{MIME: "text/plain", Name: "t", Data: "Ug=="}, Extra: []llm.Field{{Name: "document", Value: json.RawMessage(`{"name":"t","source":{"text":"R"}}`)}}},
			{Kind: llm.PartOther, Raw: json.RawMessage(`{"video":{}}`)},
		}).Draw(t, "media")
		p.CacheControl = marks.Draw(t, "cache")
		return p
	})
}

// results are tools' results, within which there are no cache points.
func results() *rapid.Generator[llm.Part] {
	return rapid.Custom(func(t *rapid.T) llm.Part {
		r := &llm.ToolResult{CallID: names.Draw(t, "call"), IsError: rapid.Bool().Draw(t, "error")}
		r.Parts = few(rapid.OneOf(texts(), media()), 0, 2).Draw(t, "content")
		for i := range r.Parts {
			r.Parts[i].CacheControl = nil
		}
		p := llm.Part{Kind: llm.PartToolResult, Result: r, CacheControl: marks.Draw(t, "cache")}
		if !r.IsError && rapid.Bool().Draw(t, "status") {
			p.Extra = []llm.Field{{Name: "status", Value: json.RawMessage(`"success"`)}}
		}
		return p
	})
}
