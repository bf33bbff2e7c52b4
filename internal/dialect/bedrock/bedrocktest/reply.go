package bedrocktest

import (
	"cmp"

	"weir/internal/dialect/bedrock"
	"weir/internal/dialect/proof"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// written lists the members that an encoded reply has already.
var written = rawjson.Names{"output", "stopReason", "usage", "serviceTier", "metrics"}

// EncodeReply appends the body of Converse's response to dst. It has one answer, the first, and no place for an id or a
// model.
func EncodeReply(dst []byte, r *llm.Reply) []byte {
	r = r.For(bedrock.Name)
	c := r.First()
	metrics, stop := []byte(`{"latencyMs":0}`), rawjson.AppendString(nil, bedrock.StopWord(c.Finish))
	for _, f := range r.Extra {
		if f.Name == "metrics" {
			metrics = f.Value
		}
	}
	for _, f := range c.Extra {
		if f.Name == "stopReason" {
			stop = f.Value
		}
	}
	dst = append(append(dst, `{"metrics":`...), metrics...)
	dst = append(dst, `,"output":{"message":{"role":"assistant","content":[`...)
	dst = appendAnswer(dst, c.Message.Parts)
	dst = append(append(dst, `]}},"stopReason":`...), stop...)
	if r.Reported || !r.Usage.IsZero() {
		dst = appendUsage(append(dst, `,"usage":`...), &r.Usage, r.Cost)
	}
	if tier := llm.ServiceTier(r.Tier); tier != "" {
		dst = append(rawjson.AppendString(append(dst, `,"serviceTier":{"type":`...), tier), '}')
	}
	for _, f := range r.Extra {
		if !written.Has(f.Name) {
			dst = rawjson.AppendMember(dst, f.Name, f.Value)
		}
	}
	return append(dst, '}')
}

// appendAnswer writes the blocks of an answer.
func appendAnswer(dst []byte, parts []llm.Part) []byte {
	first := len(dst)
	for i := range parts {
		at := len(dst)
		if at > first {
			dst = append(dst, ',')
		}
		before := len(dst)
		if dst = appendAnswerBlock(dst, &parts[i]); len(dst) == before {
			dst = dst[:at]
		}
	}
	return dst
}

// appendAnswerBlock writes one block as requests have it; nothing for a part that Converse cannot carry.
func appendAnswerBlock(dst []byte, p *llm.Part) []byte {
	switch {
	case p.Raw != nil:
	case p.Kind == llm.PartReasoning:
		if proof.IsForeign(p.Maker, "anthropic") {
			p = &llm.Part{Kind: p.Kind, Text: p.Text} // other vendors' signatures have no meaning here
		}
		if p.Text == "" && p.Redacted == "" && p.Signature == "" {
			return dst
		}
	case p.Media == nil && (p.Kind == llm.PartImage || p.Kind == llm.PartAudio):
		return appendText(dst, p.Text)
	case p.Kind == llm.PartDocument, p.Kind == llm.PartToolResult:
		return dst
	}
	body, _, err := bedrock.EncodeRequest(&llm.Request{
		Messages: []llm.Message{{Role: llm.RoleAssistant, Parts: []llm.Part{*p}}}, ExtraOf: bedrock.Name,
	}, &llm.Quirks{})
	if err != nil { // the type of an image or a sound
		return appendText(dst, cmp.Or(p.Text, p.Media.Unshown()))
	}
	for _, message := range rawjson.Elements(rawjson.Get(body, "messages")) {
		content := rawjson.Get(message, "content")
		dst = append(dst, content[1:len(content)-1]...)
	}
	return dst
}

// appendText writes a text in place of other media; nothing for none.
func appendText(dst []byte, text string) []byte {
	if text == "" {
		return dst
	}
	return append(rawjson.AppendString(append(dst, `{"text":`...), text), '}')
}
