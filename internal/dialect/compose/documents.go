package compose

import (
	"slices"

	"weir/internal/llm"
)

// Uncited returns the request with its documents, unless keeps holds of them, as a model reads them that cites none. New
// names the citations that were asked for as left out then. A nil keeps holds of no document.
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

// uncited does the same for the parts of a message, and of the results in it.
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
