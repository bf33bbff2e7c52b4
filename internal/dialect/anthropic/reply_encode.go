package anthropic

import (
	"slices"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/dialect/proof"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeReply appends a message object to dst. The format has one choice: the first.
func EncodeReply(dst []byte, r *llm.Reply) []byte {
	own := r.ExtraOf == Name
	r = r.For(Name)
	c := r.First()
	dst = appendOpening(dst, r.ID, r.Model)
	dst = append(dst, '[')
	e := messageEncoder{Writer: compose.Writer{Unsent: compose.Unsent{Own: true}, Dst: dst}}
	refused := false
	for _, p := range withSources(c.Message.Parts, r) {
		p = replyPart(&p)
		refused = refused || p.Kind == llm.PartRefusal
		e.answer(&p)
	}
	dst = append(e.Dst, ']')
	if refused && c.Finish == llm.FinishStop {
		c.Finish = llm.FinishContentFilter
	}
	dst = appendStop(append(dst, ','), &c)
	if r.Reported || !r.Usage.IsZero() {
		dst = append(dst, `,"usage":`...)
		dst = appendUsage(dst, &r.Usage, tierWord(r.Tier, own), r.Cost)
	}
	return append(compose.AppendFields(dst, r.Extra, written), '}')
}

// withSources returns the parts of an answer with the sources that another vendor named.
func withSources(parts []llm.Part, r *llm.Reply) []llm.Part {
	if !slices.ContainsFunc(parts, func(p llm.Part) bool { return hasSources(&p) }) {
		return parts
	}
	var all []llm.Part
	searches := 0
	for i := range parts {
		switch p := &parts[i]; {
		case !hasSources(p):
			all = append(all, *p)
		case p.Search() != nil:
			all = append(all, searchBlocks(p.Search(), r.ID, searches)...)
			searches++
		default:
			all = append(all, cut(p, r.Called)...)
		}
	}
	return all
}

// hasSources reports whether a part has sources in another format's form.
func hasSources(p *llm.Part) bool {
	return p.Search() != nil && p.Raw == nil || len(p.Claims()) > 0 && p.Annotations == nil && p.Text != ""
}

// answer writes a part of an answer. Another vendor's signature of a text or a call becomes a redacted thinking block
// next to it.
func (e *messageEncoder) answer(p *llm.Part) {
	signed := llm.Part{Kind: llm.PartReasoning, Redacted: proof.SealLoose(p)}
	if p.Kind == llm.PartToolCall && signed.Redacted != "" {
		e.Element()
		e.block(&signed)
	}
	if p.Kind != 0 {
		e.Element()
		e.block(p)
	}
	if p.Kind == llm.PartText && signed.Redacted != "" {
		e.Element()
		e.block(&signed)
	}
}

// sealed returns a thinking part in this format, with another vendor's signature as one string.
func sealed(p *llm.Part) llm.Part {
	switch {
	case !proof.IsForeign(p.Maker, Name):
		return *p
	case p.Text != "":
		return llm.Part{Kind: p.Kind, Text: p.Text, Signature: proof.SealPart(p)}
	case p.Signature != "" || p.Redacted != "":
		return llm.Part{Kind: p.Kind, Redacted: proof.SealPart(p)}
	}
	return llm.Part{}
}

// appendOpening writes a message object up to its content.
func appendOpening(dst []byte, id, model string) []byte {
	dst = rawjson.AppendString(append(dst, `{"id":`...), id)
	dst = append(dst, `,"type":"message","role":"assistant","model":`...)
	dst = rawjson.AppendString(dst, model)
	return append(dst, `,"content":`...)
}

// replyPart returns a part in the form of an answer of this format: a sound becomes its transcript. The kind is zero if
// the format has no place for it.
func replyPart(p *llm.Part) llm.Part {
	switch p.Kind {
	case llm.PartText, llm.PartRefusal:
		if p.Text != "" {
			return *p
		}
		if p.Signature != "" { // without text
			return llm.Part{Kind: llm.PartReasoning, Redacted: proof.SealLoose(p)}
		}
	case llm.PartAudio, llm.PartImage, llm.PartDocument:
		if p.Text != "" {
			return llm.Part{Kind: llm.PartText, Text: p.Text}
		}
		if p.Media != nil {
			return llm.Part{Kind: llm.PartText, Text: p.Media.Unshown()}
		}
	case llm.PartReasoning:
		return sealed(p)
	case llm.PartOther:
		return *p
	case llm.PartToolCall:
		if p.Call != nil {
			call := *p.Call
			call.Arguments, _ = parse.Object(call.Arguments)
			out := *p
			out.Call = &call
			return out
		}
	}
	return llm.Part{}
}

// appendStop writes the stop reason, unchanged if it is from a provider of this format.
func appendStop(dst []byte, c *llm.Choice) []byte {
	reason := rawjson.AppendString(nil, finishWord(c.Finish))
	sequence, more := []byte("null"), []byte(nil)
	if c.Stopped != "" && c.Finish == llm.FinishStop {
		reason, sequence = []byte(`"stop_sequence"`), rawjson.AppendString(nil, c.Stopped)
	}
	for _, f := range c.Extra {
		switch f.Name {
		case "stop_reason":
			reason = f.Value
		case "stop_sequence":
			sequence = f.Value
		case "stop_details":
			more = f.Value
		}
	}
	dst = append(append(dst, `"stop_reason":`...), reason...)
	dst = append(append(dst, `,"stop_sequence":`...), sequence...)
	if more != nil {
		dst = append(append(dst, `,"stop_details":`...), more...)
	}
	return dst
}

// tierWord returns the vendor's name of a service tier; empty if it has none.
func tierWord(modes string, own bool) string {
	tier := llm.ServiceTier(modes)
	switch {
	case own, tier == "standard", tier == "priority", tier == "batch":
		return tier
	case tier == "default":
		return "standard"
	}
	return ""
}

// written lists the members that an encoded message has already.
var written = rawjson.Names{
	"id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "stop_details", "usage", "error",
}
