package compose

import (
	"slices"

	"weir/internal/llm"
)

// Uncited returns the request with its documents in the form for a model that does not cite, except those for which
// keeps returns true. New then reports requested citations as dropped. A nil keeps excepts no document.
func Uncited(r *llm.Request, keeps func(*llm.Part) bool) *llm.Request {
	var messages []llm.Message
	wished := false
	for i := range r.Messages {
		parts, cited, changed := uncited(r.Messages[i].Parts, keeps)
		if wished = wished || cited; !changed {
			continue
		}
		if messages == nil {
			messages = slices.Clone(r.Messages)
		}
		messages[i].Parts = parts
	}
	if messages == nil {
		return r
	}
	in := *r
	if in.Messages = messages; wished {
		in.LeftOut = append(slices.Clip(r.LeftOut), "citations")
	}
	return &in
}

// uncited does the same for the parts of a message, including tool results.
func uncited(parts []llm.Part, keeps func(*llm.Part) bool) (plain []llm.Part, cited, changed bool) {
	plain, cited = llm.Uncited(parts, keeps)
	changed = len(plain) != len(parts) || len(parts) > 0 && &plain[0] != &parts[0]
	for i := range plain {
		result := plain[i].Result
		if result == nil {
			continue
		}
		within, wished, differs := uncited(result.Parts, keeps)
		if cited = cited || wished; !differs {
			continue
		}
		if !changed {
			plain, changed = slices.Clone(plain), true
		}
		copied := *result
		copied.Parts = within
		plain[i].Result = &copied
	}
	return plain, cited, changed
}
