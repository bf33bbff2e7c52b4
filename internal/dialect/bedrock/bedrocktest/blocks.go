package bedrocktest

import (
	"strconv"

	"weir/internal/dialect/bedrock"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// decodeBlocks reads the blocks of a message, of the system prompt or of a tool's result. If cached is set, a cache
// point belongs to the block before it.
func decodeBlocks(v []byte, cached bool) (parts []llm.Part, err error) {
	if rawjson.KindOf(v) != rawjson.Array {
		return nil, llm.Invalid("", `The content must be an array of blocks such as {"text": "Hello"}.`)
	}
	for i, e := range rawjson.Elements(v) {
		name, value, ok := bedrock.OnlyMember(e)
		if !ok {
			return nil, llm.Invalid("["+strconv.Itoa(i)+"]",
				`A block must be an object with one member, such as {"text": "Hello"}.`)
		}
		last := len(parts) - 1
		if mark := cacheMark(value); name == "cachePoint" && cached && mark != nil && last >= 0 &&
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
			if r.Parts, err = decodeBlocks(m.Value, false); err != nil {
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

// cacheMark returns the mark of a cache point; nil for an unknown one.
func cacheMark(v []byte) []byte {
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

// decodeBlock reads one block. A block that the tree does not fully model is stored unchanged.
func decodeBlock(block []byte, name string, v []byte) (p llm.Part, err error) {
	switch name {
	case "document":
		p = decodeDocument(v)
	case "json":
		return llm.Part{Kind: llm.PartText, Text: string(v), Raw: block}, nil
	case "searchResult":
		return decodeResult(block, v), nil
	case "toolUse":
		p = bedrock.DecodeToolUse(v)
		if p.Call != nil && p.Call.Extra != nil {
			p = llm.Part{} // the provider's own tool, which it called and answered
		}
	case "toolResult":
		return decodeToolResult(block, v)
	default:
		return bedrock.DecodeBlock(block, name, v)
	}
	if p.Kind == 0 {
		p = llm.Part{Kind: llm.PartOther, Raw: block}
	}
	return p, nil
}
