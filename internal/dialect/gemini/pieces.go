package gemini

import (
	"slices"

	"weir/internal/llm"
)

// joined joins the parts of a model's message that arrived as one content for each piece of a stream: pieces of one
// text, or of one thinking part, become one part, and empty ones are removed. Signed parts stay unchanged.
func joined(parts []llm.Part) []llm.Part {
	out := parts[:0]
	for i := 0; i < len(parts); {
		var text llm.Joined
		end := i
		for end < len(parts) && isPiece(&parts[end]) && parts[end].Kind == parts[i].Kind &&
			parts[end].Maker == parts[i].Maker {
			text.Add(parts[end].Text)
			end++
		}
		if end == i {
			out = append(out, parts[i])
			i++
			continue
		}
		if p := parts[i]; text.String() != "" {
			p.Text = text.String()
			out = append(out, p)
		}
		i = end
	}
	return out
}

// isPiece reports whether a part is only text or thinking, without a signature.
func isPiece(p *llm.Part) bool {
	plain := p.Signature == "" && p.Redacted == "" && p.Extra == nil && p.Annotations == nil && p.CacheControl == nil
	return plain && (p.Kind == llm.PartText || p.Kind == llm.PartReasoning)
}

// saysNothing reports whether a model's message is empty.
func saysNothing(m llm.Message) bool {
	return m.Role == llm.RoleAssistant && len(m.Extra) == 0 &&
		!slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return !isPiece(&p) || p.Text != "" })
}
