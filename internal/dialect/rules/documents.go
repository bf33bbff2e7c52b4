package rules

import (
	"cmp"
	"fmt"
	"slices"

	"weir/internal/llm"
)

// NoDocuments forbids documents in messages.
type NoDocuments struct{}

// Broken returns the first message with a document.
func (NoDocuments) Broken(r *llm.Request, _ []byte) string {
	for i := range r.Messages {
		if slices.ContainsFunc(r.Messages[i].Parts, hasDocument) {
			return fmt.Sprintf("messages.%d.content", i)
		}
	}
	return ""
}

// hasDocument reports whether a part is a document or a tool result with one. A file in a vendor's own form does not
// count, because its content is unknown.
func hasDocument(p llm.Part) bool {
	m := p.Media
	return p.Kind == llm.PartDocument && m != nil && (m.Data != "" || m.URL != "" || m.FileID != "") ||
		p.Result != nil && slices.ContainsFunc(p.Result.Parts, hasDocument)
}

// Fit converts text documents to text. It refuses other documents from the user's last question on, and replaces
// earlier ones by a note, because the conversation has the answers about them.
func (NoDocuments) Fit(f *Fitting) error {
	texts := func(parts []llm.Part) []llm.Part {
		plain, cited := llm.Uncited(parts, nil)
		if cited {
			f.Drop("citations")
		}
		return llm.Texts(plain)
	}
	f.results(func(r *llm.ToolResult) { r.Parts = texts(r.Parts) })
	asked := lastQuestion(f.Messages)
	for i := range f.Messages {
		f.Messages[i].Parts = texts(f.Messages[i].Parts)
		if !slices.ContainsFunc(f.Messages[i].Parts, hasDocument) {
			continue
		}
		if i >= asked {
			return llm.Invalid(fmt.Sprintf("messages[%d].content", i), "The model does not accept documents. Send the "+
				"document's text, or choose a model that accepts documents.")
		}
		f.Drop("documents")
		f.Messages[i].Parts = withoutDocuments(f.Messages[i].Parts)
	}
	return nil
}

// lastQuestion returns the index of the user's last message that is not a tool result; 0 for none.
func lastQuestion(messages []llm.Message) int {
	for i := len(messages) - 1; i > 0; i-- {
		m := &messages[i]
		if m.Role == llm.RoleUser && len(m.Parts) > 0 && !slices.ContainsFunc(m.Parts, isResult) {
			return i
		}
	}
	return 0
}

// withoutDocuments returns the parts with a note in place of each document.
func withoutDocuments(parts []llm.Part) []llm.Part {
	parts = slices.Clone(parts)
	for i := range parts {
		switch p := &parts[i]; {
		case !hasDocument(*p):
		case p.Result != nil:
			result := *p.Result
			result.Parts = withoutDocuments(result.Parts)
			p.Result = &result
		default:
			*p = llm.Part{
				Kind: llm.PartText, Text: "[" + cmp.Or(p.Media.Name, "A document") + ", which is not shown any more]",
				At: p.At, CacheControl: p.CacheControl,
			}
		}
	}
	return parts
}

func (NoDocuments) String() string { return "Messages contain no documents" }
