package anthropic

import (
	"encoding/base64"
	"strconv"

	"weir/internal/dialect/parse"
	"weir/internal/dialect/proof"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// decodeMessages builds the messages; the system prompt becomes the first.
func decodeMessages(system, v []byte) (messages []llm.Message, err error) {
	if system != nil {
		m := llm.Message{Role: llm.RoleSystem}
		if m.Parts, err = decodeContent(system, "system", false); err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	first := len(messages)
	if rawjson.KindOf(v) == rawjson.Array {
		for i, e := range rawjson.Elements(v) {
			m, err := decodeMessage(e, "messages["+strconv.Itoa(i)+"]")
			if err != nil {
				return nil, err
			}
			m.At = i + 1
			messages = append(messages, m)
		}
	}
	if len(messages) == first {
		return nil, llm.Invalid("messages",
			`The messages must be an array of at least one message such as {"role": "user", "content": "Hello"}.`)
	}
	return messages, nil
}

func decodeMessage(v []byte, param string) (out llm.Message, err error) {
	if rawjson.KindOf(v) != rawjson.Object {
		return out, llm.Invalid(param, "A message must be an object with a role and content.")
	}
	var role, content []byte
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "role":
			role = m.Value
		case "content":
			content = m.Value
		default:
			if rawjson.Present(m.Value) {
				out.Extra = append(out.Extra, llm.Field{Name: m.Name(), Value: m.Value})
			}
		}
	}
	switch out.Role = llm.Role(rawjson.Text(role)); out.Role {
	case llm.RoleUser, llm.RoleAssistant, llm.RoleSystem:
	default:
		return out, llm.Invalid(param+".role", `The role must be "user", "assistant" or "system".`)
	}
	out.Parts, err = decodeContent(content, param+".content", false)
	return out, err
}

// decodeContent reads a content, a string or an array of blocks; within is set inside a tool result. An empty string
// has no parts.
func decodeContent(v []byte, param string, within bool) (parts []llm.Part, err error) {
	if s, ok := rawjson.AsString(v); ok {
		if s != "" {
			parts = []llm.Part{{Kind: llm.PartText, Text: s}}
		}
		return parts, nil
	}
	if rawjson.KindOf(v) != rawjson.Array {
		return nil, llm.Invalid(param, "The content must be a string or an array of content blocks.")
	}
	var loose []proof.Loose
	for i, e := range rawjson.Elements(v) {
		p, err := decodeBlock(e, param+"["+strconv.Itoa(i)+"]", within)
		if err != nil {
			return nil, err
		}
		if p.Kind == llm.PartReasoning {
			if of, is := proof.Read(&p, Name); is {
				loose = append(loose, proof.Loose{Proof: of, Behind: len(parts)})
				continue
			}
		}
		citeDocuments(&p)
		parts = append(parts, p)
	}
	proof.Attach(parts, loose)
	return parts, nil
}

// partKinds maps the types of blocks that the tree models.
var partKinds = map[string]llm.PartKind{
	"text":              llm.PartText,
	"thinking":          llm.PartReasoning,
	"redacted_thinking": llm.PartReasoning,
	"image":             llm.PartImage,
	"document":          llm.PartDocument,
	"tool_use":          llm.PartToolCall,
	"tool_result":       llm.PartToolResult,
}

// decodeBlock reads a content block; a block of an unknown type or source is stored unchanged.
//
// Results cannot contain results: nested ones would be read repeatedly.
func decodeBlock(v []byte, param string, within bool) (llm.Part, error) {
	kind := rawjson.Text(rawjson.Get(v, "type"))
	if kind == "" {
		return llm.Part{},
			llm.Invalid(param, `A content block must be an object such as {"type": "text", "text": "Hello"}.`)
	}
	switch kind {
	case "tool_reference":
		return reference(v), nil
	case "search_result":
		return composed(v, "content"), nil
	}
	b := block{Part: llm.Part{Kind: partKinds[kind]}, kind: kind, param: param}
	if b.Kind == 0 || within && b.Kind == llm.PartToolResult {
		return other(v), nil
	}
	switch b.Kind {
	case llm.PartReasoning:
		b.Maker = Name
	case llm.PartToolCall:
		b.Call = &llm.ToolCall{}
	case llm.PartToolResult:
		b.Result = &llm.ToolResult{}
	}
	for m := range rawjson.Members(v) {
		if err := b.read(m); err != nil {
			return llm.Part{}, err
		}
	}
	switch {
	case b.Media != nil:
	case b.Kind == llm.PartDocument:
		return composed(v, "source", "content"), nil
	case b.Kind == llm.PartImage:
		return other(v), nil
	}
	if b.Media != nil {
		b.Media.Name = b.title
	}
	return described(b.Part), nil
}

func other(v []byte) llm.Part { return llm.Part{Kind: llm.PartOther, Raw: v} }

// citeDocuments adds the citations of documents in an earlier answer as claims, for formats that support them.
func citeDocuments(p *llm.Part) {
	if p.Kind != llm.PartText || p.Annotations == nil {
		return
	}
	n := 0
	for range rawjson.Elements(p.Annotations) {
		n++
	}
	claims := make([]llm.Claim, 0, min(n, maxCitations))
	for _, v := range rawjson.Elements(p.Annotations) {
		if s := readSource(v); s.Document > 0 && len(claims) < maxCitations {
			claims = append(claims, llm.Claim{End: len(p.Text), Source: s})
		}
	}
	if len(claims) > 0 {
		p.Sources = &llm.Sources{Claims: claims}
	}
}

// block holds a content block while it is read.
type block struct {
	llm.Part
	kind, param, title string
}

func (b *block) read(m rawjson.Member) error {
	if !rawjson.Present(m.Value) {
		return nil
	}
	switch string(m.Key()) {
	case "type":
		return nil
	case "cache_control":
		b.CacheControl = m.Value
		return nil
	}
	known, err := b.fill(string(m.Key()), m.Value)
	switch {
	case known || err != nil:
	case b.Call != nil:
		b.Call.Extra = append(b.Call.Extra, llm.Field{Name: m.Name(), Value: m.Value})
	default:
		b.Extra = append(b.Extra, llm.Field{Name: m.Name(), Value: m.Value})
	}
	return err
}

// fill reads a member of blocks of this kind.
func (b *block) fill(key string, v []byte) (known bool, err error) {
	switch b.kind + "." + key {
	case "text.text":
		b.Text, err = parse.String(v, b.param+".text")
	case "text.citations":
		b.Annotations = v
	case "thinking.thinking":
		b.Text = rawjson.Text(v)
	case "thinking.signature":
		b.Signature = rawjson.Text(v)
	case "redacted_thinking.data":
		b.Redacted = rawjson.Text(v)
	case "image.source", "document.source":
		b.Media = decodeSource(v)
	case "document.title":
		b.title = rawjson.Text(v)
	case "tool_use.id":
		b.Call.ID = rawjson.Text(v)
	case "tool_use.name":
		b.Call.Name = rawjson.Text(v)
	case "tool_use.input":
		b.Call.Arguments = arguments(v)
	case "tool_result.tool_use_id":
		b.Result.CallID = rawjson.Text(v)
	case "tool_result.content":
		b.Result.Parts, err = decodeContent(v, b.param+".content", true)
	case "tool_result.is_error":
		b.Result.IsError, _ = rawjson.AsBool(v)
	default:
		return false, nil
	}
	return true, err
}

// arguments returns the input of a call as JSON text. An input that is a string contains arguments that are not JSON,
// as EncodeReply writes them.
func arguments(v []byte) string {
	if s, ok := rawjson.AsString(v); ok {
		return s
	}
	return string(v)
}

// decodeSource reads the source of an image or a document; nil for an unknown type of source.
func decodeSource(v []byte) *llm.Media {
	get := func(name string) string { return rawjson.Text(rawjson.Get(v, name)) }
	switch get("type") {
	case "base64":
		return &llm.Media{MIME: parse.MediaType(get("media_type")), Data: get("data")}
	case "text":
		return &llm.Media{MIME: get("media_type"), Data: base64.StdEncoding.EncodeToString([]byte(get("data")))}
	case "url":
		return &llm.Media{URL: get("url")}
	case "file":
		return &llm.Media{FileID: get("file_id")}
	}
	return nil
}
