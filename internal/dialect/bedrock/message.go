package bedrock

import (
	"strings"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// DecodeBlock reads one block of a message: a text, an image, a sound, thinking or citations. Any other block, and one
// that the tree does not fully model, is stored unchanged. The error is an *llm.Error for a text that is no string.
func DecodeBlock(block []byte, name string, v []byte) (p llm.Part, err error) {
	switch name {
	case "text":
		text, ok := rawjson.AsString(v)
		if !ok {
			return p, llm.Invalid(".text", "The text must be a string.")
		}
		return llm.Part{Kind: llm.PartText, Text: text}, nil
	case "image", "audio":
		p = decodeMedia(name, v)
	case "reasoningContent":
		p = decodeReasoning(v)
	case "citationsContent":
		p = decodeCitations(v)
	}
	if p.Kind == 0 {
		p = llm.Part{Kind: llm.PartOther, Raw: block}
	}
	return p, nil
}

// decodeReasoning reads a block of thinking, plain or encrypted.
func decodeReasoning(v []byte) (p llm.Part) {
	name, inner, _ := OnlyMember(v)
	switch name {
	case "redactedContent":
		if s := rawjson.Text(inner); s != "" {
			return llm.Part{Kind: llm.PartReasoning, Redacted: s, Maker: maker}
		}
	case "reasoningText":
		p.Kind, p.Maker = llm.PartReasoning, maker
		for m := range rawjson.Members(inner) {
			switch string(m.Key()) {
			case "text":
				p.Text = rawjson.Text(m.Value)
			case "signature":
				p.Signature = rawjson.Text(m.Value)
			default:
				return llm.Part{}
			}
		}
	}
	return p
}

// decodeCitations reads a text with its citations, which stay unchanged. A text in several pieces also keeps its
// original.
func decodeCitations(v []byte) llm.Part {
	p := llm.Part{Kind: llm.PartText}
	pieces, exact := 0, true
	var text strings.Builder
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "citations":
			if rawjson.Present(m.Value) {
				p.Annotations = m.Value
			}
		case "content":
			for _, e := range rawjson.Elements(m.Value) {
				text.WriteString(rawjson.Text(rawjson.Get(e, "text")))
				pieces++
			}
		default:
			exact = false
		}
	}
	p.Text = text.String()
	if !exact || pieces != 1 || p.Annotations == nil {
		p.Extra = []llm.Field{{Name: "citationsContent", Value: v}}
	}
	return p
}

// DecodeToolUse reads a tool call; it returns no part for one without a name. Other members, such as a mark of the
// provider's own tools, are the call's extras.
func DecodeToolUse(v []byte) llm.Part {
	c := &llm.ToolCall{}
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "toolUseId":
			c.ID = rawjson.Text(m.Value)
		case "name":
			c.Name = rawjson.Text(m.Value)
		case "input":
			c.Arguments = parse.Arguments(m.Value)
		default:
			c.Extra = parse.Extra(c.Extra, m)
		}
	}
	if c.Name == "" {
		return llm.Part{}
	}
	return llm.Part{Kind: llm.PartToolCall, Call: c}
}

// OnlyMember returns the only member of an object that is not null: Smithy's form of a union.
func OnlyMember(v []byte) (name string, value []byte, ok bool) {
	n := 0
	for m := range rawjson.Members(v) {
		if rawjson.Present(m.Value) {
			name, value = m.Name(), m.Value
			n++
		}
	}
	return name, value, n == 1
}
