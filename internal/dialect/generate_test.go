package dialect_test

import (
	"encoding/json"
	"slices"

	"pgregory.net/rapid"

	"weir/internal/dialect"
	"weir/internal/llm"
)

// The values of generated trees. A text begins with a letter because some formats refuse blank content.
var (
	words   = rapid.StringMatching(`[a-z][a-zA-Z0-9 "\\\n\té日😀/<>{}\[\]]{0,11}[a-z]`)
	names   = rapid.StringMatching(`[a-z]{3,8}`)
	base64s = rapid.StringMatching(`[A-Za-z0-9+/]{4,12}`).Filter(func(s string) bool { return len(s)%4 == 0 })
	objects = rapid.SampledFrom([]json.RawMessage{[]byte(`{"type":"object"}`), []byte(`{"type":"object","properties":{"a":{"type":"string"}}}`)})
	numbers = rapid.SampledFrom([]json.Number{"0.25", "0.50", "0.97", "1"})
	raws    = rapid.SampledFrom([]json.RawMessage{[]byte(`{"a":[1,null]}`), []byte(`7`), []byte(`"x"`)})
	mark    = json.RawMessage(`{"type":"ephemeral"}`)
)

// maybe generates nil or a pointer to a value of g.
func maybe[T any](g *rapid.Generator[T]) *rapid.Generator[*T] {
	return rapid.Custom(func(t *rapid.T) *T {
		if rapid.Bool().Draw(t, "absent") {
			return nil
		}
		return new(g.Draw(t, "value"))
	})
}

// few generates a slice of up to n values, nil if empty.
func few[T any](g *rapid.Generator[T], least, n int) *rapid.Generator[[]T] {
	return rapid.Custom(func(t *rapid.T) (list []T) {
		for range rapid.IntRange(least, n).Draw(t, "length") {
			list = append(list, g.Draw(t, "element"))
		}
		return list
	})
}

func seldom(t *rapid.T, label string) bool { return rapid.IntRange(0, 7).Draw(t, label) == 0 }

// requests generates requests without members of any single wire format.
func requests(d *dialect.Dialect) *rapid.Generator[*llm.Request] {
	return rapid.Custom(func(t *rapid.T) *llm.Request {
		r := &llm.Request{
			Model:            rapid.SampledFrom(modelsOf(d)).Draw(t, "model"),
			Messages:         conversation(t, d),
			Tools:            few(tools(), 0, 3).Draw(t, "tools"),
			MaxOutput:        maybe(rapid.Int64Range(2048, 1<<30)).Draw(t, "max"),
			Temperature:      maybe(numbers).Draw(t, "temperature"),
			TopP:             maybe(numbers).Draw(t, "top_p"),
			TopK:             maybe(rapid.Int64Range(1, 100)).Draw(t, "top_k"),
			FrequencyPenalty: maybe(numbers).Draw(t, "frequency"),
			PresencePenalty:  maybe(numbers).Draw(t, "presence"),
			Seed:             maybe(rapid.Int64Range(0, 1<<40)).Draw(t, "seed"),
			Stop:             few(words, 0, 4).Draw(t, "stop"),
			User:             rapid.SampledFrom([]string{"", "u-1"}).Draw(t, "user"),
			Stream:           rapid.Bool().Draw(t, "stream"),
			ExtraOf:          "another",
		}
		r.IncludeUsage = r.Stream
		wishes(t, d, r)
		return r
	})
}

// modelsOf returns names by which the encoders choose the members that a model accepts.
func modelsOf(d *dialect.Dialect) []string {
	switch d.Name {
	case "anthropic":
		return []string{"claude-opus-4-5", "claude-sonnet-5", "m"}
	case "gemini":
		return []string{"gemini-3-pro", "gemini-2.5-flash"}
	case "bedrock":
		return []string{"anthropic.claude-sonnet-4-5-20250929-v1:0", "amazon.nova-2-lite-v1:0", "m"}
	}
	return []string{"m"}
}

// wishes sets the wishes for the answer.
func wishes(t *rapid.T, d *dialect.Dialect, r *llm.Request) {
	if f := maybe(formats()).Draw(t, "format"); f != nil {
		r.Format = f
	}
	r.Reasoning = rapid.SampledFrom([]*llm.ReasoningOptions{nil, {Effort: "low"}, {Effort: "high"}, {Budget: 2048}}).Draw(t, "reasoning")
	if seldom(t, "choices") {
		r.Choices = new(int64(2))
	}
	if seldom(t, "extra") {
		r.Extra = []llm.Field{{Name: "x_one", Value: raws.Draw(t, "value")}}
	}
	if len(r.Tools) == 0 || d.Name == "ollama" { // which has no choice
		return
	}
	r.ToolChoice = rapid.SampledFrom([]*llm.ToolChoice{nil, {Mode: llm.ToolsAuto}, {Mode: llm.ToolsRequired}, {Mode: llm.ToolsNone}, {Mode: llm.ToolsNamed, Name: r.Tools[0].Name}}).Draw(t, "choice")
	if c := r.ToolChoice; c != nil && c.Mode == llm.ToolsNamed && d.Name == "cohere" {
		r.Tools = r.Tools[:1] // the request expresses it by leaving out the others
	}
	if c := r.ToolChoice; c == nil || c.Mode != llm.ToolsNone {
		r.ParallelTools = maybe(rapid.Bool()).Draw(t, "parallel")
	}
}

func formats() *rapid.Generator[llm.Format] {
	return rapid.Custom(func(t *rapid.T) llm.Format {
		f := llm.Format{Kind: rapid.SampledFrom([]llm.FormatKind{llm.FormatText, llm.FormatJSON, llm.FormatSchema, llm.FormatSchema}).Draw(t, "kind")}
		if f.Kind == llm.FormatSchema {
			f.Name, f.Schema = names.Draw(t, "name"), objects.Draw(t, "schema")
			f.Description = rapid.SampledFrom([]string{"", "d"}).Draw(t, "description")
		}
		return f
	})
}

func tools() *rapid.Generator[llm.Tool] {
	return rapid.Custom(func(t *rapid.T) llm.Tool {
		if seldom(t, "server") {
			return llm.Tool{Raw: json.RawMessage(`{"type":"a_tool_of_another","name":"x"}`)}
		}
		tool := llm.Tool{Name: names.Draw(t, "name"), Parameters: objects.Draw(t, "parameters")}
		tool.Description = rapid.SampledFrom([]string{"", "does\nthings"}).Draw(t, "description")
		tool.Strict = maybe(rapid.Bool()).Draw(t, "strict")
		if seldom(t, "cache") {
			tool.CacheControl = mark
		}
		if seldom(t, "extra") {
			tool.Extra = []llm.Field{{Name: "x_tool", Value: raws.Draw(t, "value")}}
		}
		return tool
	})
}

// conversation begins with the system, and ends with the user or a tool.
func conversation(t *rapid.T, d *dialect.Dialect) (list []llm.Message) {
	if rapid.Bool().Draw(t, "system") {
		list = append(list, llm.Message{Role: llm.RoleSystem, Parts: few(texts(), 1, 2).Draw(t, "prompt")})
	}
	list = append(list, user(t))
	for range rapid.IntRange(0, 2).Draw(t, "turns") {
		said := assistant(t, d)
		list = append(list, said)
		list = append(list, results(t, said.Parts)...)
		list = append(list, user(t))
	}
	return list
}

func user(t *rapid.T) llm.Message {
	m := llm.Message{Role: llm.RoleUser, Parts: few(texts(), 1, 2).Draw(t, "words")}
	if seldom(t, "shows") {
		m.Parts = append(m.Parts, media().Draw(t, "media"))
	}
	if seldom(t, "named") {
		m.Name = "ann"
	}
	if seldom(t, "extra") {
		m.Extra = []llm.Field{{Name: "x_message", Value: raws.Draw(t, "value")}}
	}
	return m
}

// assistant generates thinking, text, a refusal, calls.
func assistant(t *rapid.T, d *dialect.Dialect) llm.Message {
	m := llm.Message{Role: llm.RoleAssistant}
	m.Parts = append(m.Parts, few(thoughts(d), 0, 2).Draw(t, "thoughts")...)
	m.Parts = append(m.Parts, few(texts(), 1, 2).Draw(t, "words")...)
	if seldom(t, "refuses") {
		m.Parts = append(m.Parts, llm.Part{Kind: llm.PartRefusal, Text: words.Draw(t, "refusal")})
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "calls") {
		m.Parts = append(m.Parts, call(t, i))
	}
	return m
}

// thoughts generates thinking of an unknown maker or of the vendors that sign.
func thoughts(d *dialect.Dialect) *rapid.Generator[llm.Part] {
	return rapid.Custom(func(t *rapid.T) llm.Part {
		return thought(t, rapid.SampledFrom([]string{"", d.Name, "anthropic", "gemini", "responses"}).Draw(t, "maker"))
	})
}

// thought generates a thought of a maker, in its vendor's form.
func thought(t *rapid.T, maker string) llm.Part {
	p := llm.Part{Kind: llm.PartReasoning, Text: words.Draw(t, "thought"), Maker: maker}
	switch maker {
	case "anthropic":
		p.Signature = base64s.Draw(t, "signature")
		if rapid.Bool().Draw(t, "redacted") {
			p.Text, p.Signature, p.Redacted = "", "", base64s.Draw(t, "data")
		}
	case "gemini":
		p.Signature = base64s.Draw(t, "signature")
	case "responses":
		p.Signature, p.Redacted = "rs_"+names.Draw(t, "id"), base64s.Draw(t, "data")
	}
	return p
}

func call(t *rapid.T, i int) llm.Part {
	p := llm.Part{Kind: llm.PartToolCall, Call: &llm.ToolCall{
		ID: "c" + names.Draw(t, "id") + string(rune('0'+i)), Name: names.Draw(t, "function"),
		Arguments: rapid.SampledFrom([]string{`{}`, `{"x":1}`, `{"x":[1,"\u00e9"]}`}).Draw(t, "arguments"),
	}}
	if seldom(t, "signed") {
		p.Signature, p.Maker = base64s.Draw(t, "signature"), "gemini"
	}
	if seldom(t, "extra") {
		p.Call.Extra = []llm.Field{{Name: "x_call", Value: raws.Draw(t, "value")}}
	}
	return p
}

// results answers the calls, each in a message of its own.
func results(t *rapid.T, parts []llm.Part) (list []llm.Message) {
	for i := range parts {
		c := parts[i].Call
		if c == nil {
			continue
		}
		r := &llm.ToolResult{CallID: c.ID, Parts: few(texts(), 1, 2).Draw(t, "result"), IsError: seldom(t, "error")}
		if seldom(t, "shows") {
			r.Parts = append(r.Parts, media().Draw(t, "media"))
		}
		p := llm.Part{Kind: llm.PartToolResult, Result: r}
		if seldom(t, "extra") {
			p.Extra = []llm.Field{{Name: "x_result", Value: raws.Draw(t, "value")}}
		}
		if seldom(t, "cache") {
			p.CacheControl = mark
		}
		list = append(list, llm.Message{Role: llm.RoleTool, Parts: []llm.Part{p}})
	}
	return list
}

func texts() *rapid.Generator[llm.Part] {
	return rapid.Custom(func(t *rapid.T) llm.Part {
		p := llm.Part{Kind: llm.PartText, Text: words.Draw(t, "text")}
		if seldom(t, "cache") {
			p.CacheControl = mark
		}
		if seldom(t, "cites") {
			p.Annotations = json.RawMessage(`[{"type":"a_citation"}]`)
		}
		if seldom(t, "extra") {
			p.Extra = []llm.Field{{Name: "x_part", Value: raws.Draw(t, "value")}}
		}
		return p
	})
}

func media() *rapid.Generator[llm.Part] {
	return rapid.Custom(func(t *rapid.T) llm.Part {
		data := base64s.Draw(t, "data")
		return rapid.SampledFrom([]llm.Part{
			{Kind: llm.PartImage, Media: &llm.Media{URL: "https://example.com/a.png?b=\"c\"", Detail: "high"}},
			{Kind: llm.PartImage, Media: &llm.Media{MIME: "image/png", Data: data}},
			{Kind: llm.PartImage, Media: &llm.Media{FileID: "file-1"}},
			{Kind: llm.PartAudio, Media: &llm.Media{Data: data, Format: "wav", MIME: "audio/wav"}},
			{Kind: llm.PartDocument, Media: &llm.Media{MIME: "application/pdf", Data: data, Name: "report"}},
			{Kind: llm.PartDocument, Media: &llm.Media{URL: "https://example.com/a.pdf"}},
			{Kind: llm.PartOther, Raw: json.RawMessage(`{"type":"a_part_of_another"}`)},
		}).Draw(t, "media")
	})
}

// ownWords lists the features of only one wire format: a tool that is not a function, and a part of the user's message
// or, if assistant is set, of the assistant's.
var ownWords = map[string]struct {
	tool, part string
	extras     bool // parts have unknown fields
	cited      bool // texts have annotations
}{
	"openai":    {`{"type":"custom","custom":{"name":"g"}}`, `{"type":"video_url","video_url":{"url":"https://example.com/a.mp4"}}`, true, false},
	"responses": {`{"type":"web_search"}`, ``, true, false},
	"anthropic": {`{"type":"web_search_20250305","name":"web_search"}`, `{"type":"container_upload","file_id":"f"}`, true, true},
	"gemini":    {`{"googleSearch":{}}`, `{"inlineData":{"mimeType":"video/mp4","data":"AAAA"}}`, true, false},
	"bedrock":   {`{"systemTool":{"name":"g"}}`, `{"video":{"format":"mp4","source":{"bytes":"AAAA"}}}`, false, false},
	"cohere":    {`{"type":"custom","custom":{"name":"g"}}`, `{"type":"document","document":{"id":"d","data":{}}}`, true, false},
	"ollama":    {`{"type":"custom","custom":{"name":"g"}}`, ``, false, false},
}

// embellish adds features of only its wire format to a request.
func embellish(t *rapid.T, d *dialect.Dialect, r *llm.Request) {
	own := ownWords[d.Name]
	if rapid.Bool().Draw(t, "extra") {
		r.Extra = append(r.Extra, llm.Field{Name: "x \"one\"", Value: raws.Draw(t, "value")})
	}
	if rapid.Bool().Draw(t, "tool") {
		tool := llm.Tool{Raw: json.RawMessage(own.tool)}
		if d.Name == "cohere" && len(r.Tools) > 0 { // all tools are strict or none
			tool.Strict = r.Tools[0].Strict
		}
		r.Tools = append(r.Tools, tool)
	}
	for i := range r.Messages {
		if m := &r.Messages[i]; m.Role == llm.RoleUser && len(m.Parts) > 0 && rapid.Bool().Draw(t, "message") {
			embellishMessage(t, d, m)
		}
		if m := &r.Messages[i]; m.Role == llm.RoleAssistant && d.Name == "openai" && rapid.Bool().Draw(t, "thinks") {
			m.Parts = append([]llm.Part{{Kind: llm.PartReasoning, Text: words.Draw(t, "thought")}}, m.Parts...)
			if rapid.Bool().Draw(t, "signed") { // in the format of a router
				m.Parts[0].Signature, m.Parts[0].Maker = base64s.Draw(t, "signature"), "a-format-v1"
			}
		}
	}
}

func embellishMessage(t *rapid.T, d *dialect.Dialect, m *llm.Message) {
	own, last := ownWords[d.Name], &m.Parts[len(m.Parts)-1]
	m.Extra = append(m.Extra, llm.Field{Name: "x_message", Value: raws.Draw(t, "value")})
	if own.extras && last.Kind == llm.PartText {
		last.Extra = append(last.Extra, llm.Field{Name: "x_part", Value: raws.Draw(t, "value")})
	}
	if own.cited && last.Kind == llm.PartText {
		last.Annotations = json.RawMessage(`[{"type":"char_location"}]`)
	}
	if own.part != "" && !slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Result != nil }) {
		m.Parts = append(m.Parts, llm.Part{Kind: llm.PartOther, Raw: json.RawMessage(own.part)})
	}
}
