package openai

import (
	"weir/internal/dialect/proof"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// OpenAI's own format cannot express thinking with its signature. It is in reasoning_details, as OpenRouter defines it
// and most clients return it: https://openrouter.ai/docs/guides/best-practices/reasoning-tokens. Each detail is a text,
// a summary or encrypted data, with the format of its vendor. The text is in reasoning_content, too. The decoder also
// reads LiteLLM's thinking_blocks.
const (
	detailText      = "reasoning.text"
	detailSummary   = "reasoning.summary"
	detailEncrypted = "reasoning.encrypted"
)

// detailFormats maps the maker of a signature to its format.
var detailFormats = []struct{ maker, format string }{
	{"anthropic", "anthropic-claude-v1"},
	{"responses", "openai-responses-v1"},
	{"gemini", "google-gemini-v1"},
}

// makerOf returns the maker of signatures of that format. An unlisted format is a maker that no other wire format
// knows.
func makerOf(format string) string {
	for _, f := range detailFormats {
		if f.format == format {
			return f.maker
		}
	}
	return format
}

// isKnown reports whether the maker of the thinking has a wire format other than this one.
func isKnown(maker string) bool {
	return maker != "" && makerOf(formatOf(maker)) == maker && formatOf(maker) != maker && maker != Name
}

func formatOf(maker string) string {
	for _, f := range detailFormats {
		if f.maker == maker {
			return f.format
		}
	}
	if maker == Name { // the detail named no maker
		return ""
	}
	return maker
}

// detail is an element of reasoning_details.
type detail struct {
	kind, text, summary, data, signature, id, format string
}

func readDetail(v []byte) (d detail) {
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "type":
			d.kind = rawjson.Text(m.Value)
		case "text":
			d.text = rawjson.Text(m.Value)
		case "summary":
			d.summary = rawjson.Text(m.Value)
		case "data":
			d.data = rawjson.Text(m.Value)
		case "signature":
			d.signature = rawjson.Text(m.Value)
		case "id":
			d.id = rawjson.Text(m.Value)
		case "format":
			d.format = rawjson.Text(m.Value)
		}
	}
	return d
}

// part returns the detail as thinking. Encrypted data may be another vendor's signature, sealed.
func (d *detail) part() llm.Part {
	p := llm.Part{Kind: llm.PartReasoning, Text: d.text + d.summary, Signature: d.signature, Redacted: d.data}
	if d.data != "" {
		p.Signature = d.id
	}
	maker := makerOf(d.format)
	proof.Read(&p, maker)
	return p
}

// reasoningParts returns the thinking of a message. Providers repeat it under several names, so the first name counts,
// except that a name with a signature precedes those without.
func reasoningParts(m *message) (parts []llm.Part) {
	text := reasoningText(m)
	parts = detailParts(m.thoughts)
	if parts == nil {
		parts = blockParts(m.blocks)
	}
	switch {
	case !isProved(parts) && text == "":
		return nil
	case !isProved(parts):
		return []llm.Part{{Kind: llm.PartReasoning, Text: text}}
	case len(parts) == 1 && parts[0].Text == "" && parts[0].Signature != "" && parts[0].Redacted == "":
		parts[0].Text = text // the detail only has the signature
	}
	return parts
}

func isProved(parts []llm.Part) bool {
	for i := range parts {
		if parts[i].Signature != "" || parts[i].Redacted != "" {
			return true
		}
	}
	return false
}

// detailParts reads reasoning_details. Encrypted data after a summary of the same id belongs to the same thinking.
func detailParts(v []byte) (parts []llm.Part) {
	var before detail
	for _, e := range rawjson.Elements(v) {
		d := readDetail(e)
		if d == (detail{}) {
			continue
		}
		p := d.part()
		if d.kind == detailEncrypted && before.kind == detailSummary && d.id != "" && d.id == before.id {
			p.Text = parts[len(parts)-1].Text
			parts = parts[:len(parts)-1]
		}
		parts, before = append(parts, p), d
	}
	return parts
}

// blockParts reads thinking_blocks, which have Anthropic's signatures.
func blockParts(v []byte) (parts []llm.Part) {
	for _, e := range rawjson.Elements(v) {
		p := llm.Part{
			Kind: llm.PartReasoning, Text: rawjson.Text(rawjson.Get(e, "thinking")),
			Signature: rawjson.Text(rawjson.Get(e, "signature")), Redacted: rawjson.Text(rawjson.Get(e, "data")),
		}
		proof.Read(&p, "anthropic")
		parts = append(parts, p)
	}
	return parts
}

func reasoningText(m *message) string {
	if s := plainReasoning(m); s != "" {
		return s
	}
	var text llm.Joined
	for _, e := range rawjson.Elements(m.thoughts) {
		text.Add(rawjson.Text(rawjson.Get(e, "text")))
		text.Add(rawjson.Text(rawjson.Get(e, "summary")))
	}
	return text.String()
}

// plainReasoning returns the thinking that is a plain string.
func plainReasoning(m *message) string {
	if s := rawjson.Text(m.reasoningContent); s != "" {
		return s
	}
	return rawjson.Text(m.reasoning)
}

// appendDetails writes the reasoning_details of the thinking, starting with the given index.
func appendDetails(dst []byte, thoughts []*llm.Part, index int64, own bool) []byte {
	dst = append(dst, `,"reasoning_details":[`...)
	for _, p := range thoughts {
		dst = rawjson.AppendComma(dst)
		dst, index = appendThought(dst, p, index, own)
	}
	return append(dst, ']')
}

// appendThought writes one thinking part and returns the next index. It seals the signature if the part is of another
// format, so that providers of this format do not take it for their own.
func appendThought(dst []byte, p *llm.Part, index int64, own bool) ([]byte, int64) {
	text, signature, redacted := p.Text, p.Signature, p.Redacted
	switch {
	case own && redacted != "" && text != "":
		dst = appendDetail(dst, detail{kind: detailSummary, summary: text, id: signature, format: formatOf(p.Maker)},
			index)
		dst, text = append(dst, ','), ""
		index++
	case own, signature == "" && redacted == "":
	case text != "":
		signature, redacted = proof.SealPart(p), ""
	default:
		signature, redacted = "", proof.SealPart(p)
	}
	d := detail{kind: detailText, text: text, signature: signature, format: formatOf(p.Maker)}
	if redacted != "" {
		d = detail{kind: detailEncrypted, data: redacted, id: signature, format: d.format}
	}
	return appendDetail(dst, d, index), index + 1
}

func appendDetail(dst []byte, d detail, index int64) []byte {
	dst = rawjson.AppendString(append(dst, `{"type":`...), d.kind)
	switch d.kind {
	case detailText:
		dst = rawjson.AppendString(append(dst, `,"text":`...), d.text)
	case detailSummary:
		dst = rawjson.AppendString(append(dst, `,"summary":`...), d.summary)
	default:
		dst = rawjson.AppendString(append(dst, `,"data":`...), d.data)
	}
	for _, m := range []struct{ name, value string }{
		{`,"signature":`, d.signature},
		{`,"id":`, d.id},
		{`,"format":`, d.format},
	} {
		if m.value != "" {
			dst = rawjson.AppendString(append(dst, m.name...), m.value)
		}
	}
	return append(rawjson.AppendCount(dst, `,"index":`, index), '}')
}
