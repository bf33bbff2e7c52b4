package bedrock

import (
	"strconv"
	"strings"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// DecodeBlocks reads the blocks of a message, of the system prompt or of a tool's result. If cached is set, a cache
// point belongs to the block before it.
func DecodeBlocks(v []byte, cached bool) (parts []llm.Part, err error) {
	if rawjson.KindOf(v) != rawjson.Array {
		return nil, llm.Invalid("", `The content must be an array of blocks such as {"text": "Hello"}.`)
	}
	for i, e := range rawjson.Elements(v) {
		name, value, ok := OnlyMember(e)
		if !ok {
			return nil, llm.Invalid("["+strconv.Itoa(i)+"]",
				`A block must be an object with one member, such as {"text": "Hello"}.`)
		}
		last := len(parts) - 1
		if mark := CacheMark(value); name == "cachePoint" && cached && mark != nil && last >= 0 &&
			parts[last].CacheControl == nil {
			parts[last].CacheControl = mark
			continue
		}
		p, err := decodeBlock(e, name, value)
		if err != nil {
			return nil, parse.Under("["+strconv.Itoa(i)+"]", err)
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// decodeBlock reads one block. A block that the tree does not fully model is stored unchanged.
func decodeBlock(block []byte, name string, v []byte) (p llm.Part, err error) {
	switch name {
	case "text":
		text, ok := rawjson.AsString(v)
		if !ok {
			return p, llm.Invalid(".text", "The text must be a string.")
		}
		return llm.Part{Kind: llm.PartText, Text: text}, nil
	case "image", "audio", "document":
		p = decodeMedia(name, v)
	case "json":
		return llm.Part{Kind: llm.PartText, Text: string(v), Raw: block}, nil
	case "reasoningContent":
		p = decodeReasoning(v)
	case "searchResult":
		return decodeResult(block, v), nil
	case "citationsContent":
		p = decodeCitations(v)
	case "toolUse":
		p = decodeToolUse(v)
		if p.Call != nil && p.Call.Extra != nil {
			p = llm.Part{} // the provider's own tool, which it called and answered
		}
	case "toolResult":
		return decodeToolResult(block, v)
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

// decodeToolUse reads a tool call; it returns no part for one without a name. Other members, such as a mark of the
// provider's own tools, are the call's extras.
func decodeToolUse(v []byte) llm.Part {
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

// decodeToolResult reads the result of a tool. The result of the provider's own tool has a type and is stored
// unchanged.
func decodeToolResult(block, v []byte) (p llm.Part, err error) {
	r := &llm.ToolResult{}
	p = llm.Part{Kind: llm.PartToolResult, Result: r}
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "toolUseId":
			r.CallID = rawjson.Text(m.Value)
		case "content":
			if r.Parts, err = DecodeBlocks(m.Value, false); err != nil {
				return p, parse.Under(".toolResult.content", err)
			}
		case "status":
			if r.IsError = rawjson.Text(m.Value) == statusError; !r.IsError {
				p.Extra = parse.Extra(p.Extra, m)
			}
		default:
			if rawjson.Present(m.Value) {
				return llm.Part{Kind: llm.PartOther, Raw: block}, nil
			}
		}
	}
	if r.CallID == "" {
		return p, llm.Invalid(".toolResult.toolUseId",
			"The tool result has no toolUseId. Set it to the id of the call that it answers.")
	}
	return p, nil
}

const (
	statusError = "error"
	hourTTL     = "1h"
)

// The marks of a cache point, in the form of other formats.
const (
	mark     = `{"type":"ephemeral"}`
	markHour = `{"type":"ephemeral","ttl":"1h"}`
	markFive = `{"type":"ephemeral","ttl":"5m"}`
)

// CacheMark returns the mark of a cache point; nil for an unknown one.
func CacheMark(v []byte) []byte {
	var kind, ttl string
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "type":
			kind = rawjson.Text(m.Value)
		case "ttl":
			ttl = rawjson.Text(m.Value)
		default:
			return nil
		}
	}
	if kind != "default" {
		return nil
	}
	switch ttl {
	case "":
		return []byte(mark)
	case hourTTL:
		return []byte(markHour)
	case "5m":
		return []byte(markFive)
	}
	return nil
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
