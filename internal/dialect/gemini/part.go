package gemini

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// part holds the members of a part.
type part struct {
	text, thought, signature []byte
	inline, file             []byte
	call, result             []byte
	other                    bool // it has unmodelled members
	extra                    []llm.Field
}

func readPart(v []byte) (p part) {
	for m := range rawjson.PresentMembers(v) {
		switch string(spelled(m.Key())) {
		case "text":
			p.text = m.Value
		case "thought":
			p.thought = m.Value
		case "thoughtSignature":
			p.signature = m.Value
		case "inlineData":
			p.inline = m.Value
		case "fileData":
			p.file = m.Value
		case "functionCall":
			p.call = m.Value
		case "functionResponse":
			p.result = m.Value
		case "executableCode", "codeExecutionResult", "toolCall", "toolResponse":
			p.other = true
		default:
			p.extra = append(p.extra, llm.Field{Name: m.Name(), Value: m.Value})
		}
	}
	return p
}

// decodePart reads a part; an unmodelled one is stored unchanged. It reports false if the value is not a part. It does
// not create ids of calls.
func decodePart(v []byte) (llm.Part, bool) {
	if rawjson.KindOf(v) != rawjson.Object {
		return llm.Part{}, false
	}
	raw := readPart(v)
	text, ok := rawjson.AsString(raw.text)
	if raw.text != nil && !ok {
		return llm.Part{}, false
	}
	thought, _ := rawjson.AsBool(raw.thought)
	p := llm.Part{Text: text, Signature: rawjson.Text(raw.signature), Extra: raw.extra}
	switch {
	case raw.other:
	case raw.call != nil:
		p.Call = decodeCall(raw.call)
		p.Kind = kindIf(p.Call.Name != "", llm.PartToolCall) // a later piece of streamed arguments has no name
	case raw.result != nil:
		p.Kind, p.Result = llm.PartToolResult, decodeResult(raw.result)
	case thought && (raw.inline != nil || raw.file != nil): // a draft of an image, not an answer
	case raw.inline != nil || raw.file != nil:
		p.Kind, p.Media = raw.media()
	case thought && (raw.text != nil || p.Signature != ""):
		p.Kind, p.Maker = llm.PartReasoning, Name
	case raw.text != nil || p.Signature != "":
		p.Kind = llm.PartText
	}
	if p.Kind == 0 {
		return llm.Part{Kind: llm.PartOther, Raw: v}, true
	}
	if p.Signature != "" {
		p.Maker = Name
	}
	return p, true
}

// media reads inline data or a file; the kind is 0 if the tree does not model it.
func (p *part) media() (llm.PartKind, *llm.Media) {
	if p.inline != nil {
		m := decodeInline(p.inline)
		return parse.MediaKind(m.MIME), m
	}
	m := decodeFile(p.file)
	return parse.MediaKind(cmp.Or(m.MIME, mimeByName(m.URL))), m
}

// decodeMedia reads a part of a result, which has only media.
func decodeMedia(v []byte) llm.Part {
	raw := readPart(v)
	if raw.inline != nil || raw.file != nil {
		if kind, media := raw.media(); kind != 0 {
			return llm.Part{Kind: kind, Media: media, Extra: raw.extra}
		}
	}
	return llm.Part{Kind: llm.PartOther, Raw: v}
}

func kindIf(ok bool, k llm.PartKind) llm.PartKind {
	if ok {
		return k
	}
	return 0
}

func decodeInline(v []byte) *llm.Media {
	m := &llm.Media{}
	for f := range rawjson.Members(v) {
		switch string(spelled(f.Key())) {
		case "mimeType":
			m.MIME = parse.MediaType(rawjson.Text(f.Value))
		case "data":
			m.Data = standardBase64(rawjson.Text(f.Value))
		case "displayName":
			m.Name = rawjson.Text(f.Value)
		}
	}
	return m
}

// standardBase64 returns the data in the standard alphabet; protocol buffers also accept the alphabet for URLs and
// missing padding.
func standardBase64(s string) string {
	if strings.ContainsAny(s, "-_") {
		s = strings.NewReplacer("-", "+", "_", "/").Replace(s)
	}
	if n := len(s) % 4; n > 1 {
		s += "=="[:4-n]
	}
	return s
}

// ownFiles begins the URLs of Google's own file store, which only Google can read: https://ai.google.dev/api/files.
const ownFiles = "https://generativelanguage.googleapis.com/"

func decodeFile(v []byte) *llm.Media {
	m := &llm.Media{}
	for f := range rawjson.Members(v) {
		switch string(spelled(f.Key())) {
		case "mimeType":
			m.MIME = parse.MediaType(rawjson.Text(f.Value))
		case "displayName":
			m.Name = rawjson.Text(f.Value)
		case "fileUri":
			m.URL = rawjson.Text(f.Value)
		}
	}
	if strings.HasPrefix(m.URL, ownFiles) || !isWeb(m.URL) {
		m.FileID, m.URL = m.URL, ""
	}
	return m
}

func isWeb(address string) bool {
	return strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://")
}

func decodeCall(v []byte) *llm.ToolCall {
	c := &llm.ToolCall{Arguments: "{}"}
	for m := range rawjson.Members(v) {
		switch string(spelled(m.Key())) {
		case "name":
			c.Name = rawjson.Text(m.Value)
		case "id":
			c.ID = rawjson.Text(m.Value)
		case "args":
			if rawjson.Present(m.Value) {
				c.Arguments = compact(m.Value)
			}
		default:
			c.Extra = append(c.Extra, llm.Field{Name: m.Name(), Value: m.Value})
		}
	}
	return c
}

// compact returns JSON text without white space.
func compact(v []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return string(v)
	}
	return b.String()
}

func decodeResult(v []byte) *llm.ToolResult {
	r := &llm.ToolResult{}
	var media []llm.Part
	for m := range rawjson.Members(v) {
		switch string(spelled(m.Key())) {
		case "name":
			r.Name = rawjson.Text(m.Value)
		case "id":
			r.CallID = rawjson.Text(m.Value)
		case "response":
			r.Parts, r.IsError = decodeOutput(m.Value)
		case "parts":
			for _, e := range list(m.Value) {
				media = append(media, decodeMedia(e))
			}
		default:
			r.Extra = append(r.Extra, llm.Field{Name: m.Name(), Value: m.Value})
		}
	}
	r.Parts = append(r.Parts, media...)
	return r
}

// decodeOutput reads the result of a function: a text under "output" or "error", otherwise the whole object, with the
// original text. https://ai.google.dev/api/caching#FunctionResponse.
func decodeOutput(v []byte) (parts []llm.Part, isError bool) {
	members, key, value := 0, "", []byte(nil)
	for m := range rawjson.Members(v) {
		members++
		key, value = m.Name(), m.Value
	}
	text, ok := rawjson.AsString(value)
	isError = members == 1 && key == "error"
	if ok && (isError || members == 1 && key == "output") {
		return []llm.Part{{Kind: llm.PartText, Text: text}}, isError
	}
	if !rawjson.Present(v) {
		return nil, false
	}
	return []llm.Part{{Kind: llm.PartText, Text: compact(v), Raw: v}}, isError
}
