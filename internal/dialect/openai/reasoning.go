package openai

import (
	"weir/internal/dialect/proof"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// What OpenAI's own format has no word for, thinking with its proof, stands in
// reasoning_details, as OpenRouter has it and most clients give it back:
// https://openrouter.ai/docs/guides/best-practices/reasoning-tokens. Each detail
// is a text, a summary or encrypted data, with the format of its vendor. The text
// alone stands in reasoning_content, too. LiteLLM's thinking_blocks are read as well.
const (
	detailText      = "reasoning.text"
	detailSummary   = "reasoning.summary"
	detailEncrypted = "reasoning.encrypted"
)

// detailFormats are the words for the makers of a proof.
var detailFormats = []struct{ maker, format string }{
	{"anthropic", "anthropic-claude-v1"},
	{"responses", "openai-responses-v1"},
	{"gemini", "google-gemini-v1"},
}

// makerOf is who made a proof of that format. A format that nobody listed is a
// maker that no other wire format knows.
func makerOf(format string) string {
	for _, f := range detailFormats {
		if f.format == format {
			return f.maker
		}
	}
	return format
}

// isKnown reports whether thinking is of a vendor whose own wire format is
// another one.
func isKnown(maker string) bool {
	return maker != "" && makerOf(formatOf(maker)) == maker && formatOf(maker) != maker && maker != Name
}

func formatOf(maker string) string {
	for _, f := range detailFormats {
		if f.maker == maker {
			return f.format
		}
	}
	if maker == Name { // who it was nobody said
		return ""
	}
	return maker
}

// detail is one of the reasoning_details.
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

// part is the detail as a thought. Encrypted data may be another vendor's proof,
// sealed.
func (d *detail) part() llm.Part {
	p := llm.Part{Kind: llm.PartReasoning, Text: d.text + d.summary, Signature: d.signature, Redacted: d.data}
	if d.data != "" {
		p.Signature = d.id
	}
	maker := makerOf(d.format)
	proof.Read(&p, maker)
	return p
}

// reasoningParts is the thinking of a message. Providers say the same under
// several names at once, so the first of them counts, but that the one with a
// proof counts before those without.
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
		parts[0].Text = text // the detail is of its proof alone
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

// detailParts reads reasoning_details. Encrypted data behind a summary of the
// same id is of the same thought.
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

// blockParts reads thinking_blocks, which are Anthropic's.
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

// plainReasoning is the thinking that is told as a string.
func plainReasoning(m *message) string {
	if s := rawjson.Text(m.reasoningContent); s != "" {
		return s
	}
	return rawjson.Text(m.reasoning)
}

// appendDetails writes the reasoning_details of thoughts, the first of them under
// that index.
func appendDetails(dst []byte, thoughts []*llm.Part, index int64, own bool) []byte {
	dst = append(dst, `,"reasoning_details":[`...)
	for i, p := range thoughts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst, index = appendThought(dst, p, index, own)
	}
	return append(dst, ']')
}

// appendThought writes a thought, and is the next index. Its proof is written
// sealed, unless it is in this format's own words, so that no provider of this
// format is given it for one of its own.
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
