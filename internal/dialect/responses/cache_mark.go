package responses

import (
	"slices"

	"weir/internal/dialect/compose"
	"weir/internal/llm"
)

// marked returns the content of a tool's result of another wire format, with the result's mark of a prompt cache on its
// last part.
func marked(e *messageEncoder, parts []llm.Part, mark []byte) []llm.Part {
	switch {
	case mark == nil:
		return parts
	case !e.breaks || len(parts) == 0:
		e.Drop(compose.MarkName(mark))
		return parts
	}
	parts = slices.Clone(parts)
	if last := &parts[len(parts)-1]; last.CacheControl == nil {
		last.CacheControl = mark
	}
	return parts
}

// breaksIn reports whether a part has a mark that the model accepts.
func breaksIn(e *messageEncoder, parts []llm.Part) bool {
	return e.breaks && slices.ContainsFunc(parts, func(p llm.Part) bool {
		return compose.Ephemeral(p.CacheControl) != nil
	})
}

// marks writes the mark and the extra fields of a part, and drops those of other wire formats. Parts of an answer have
// no marks in this format.
func marks(e *messageEncoder, p *llm.Part, role llm.Role) {
	if e.Own {
		if p.CacheControl != nil {
			e.InnerRaw(compose.Breakpoint, p.CacheControl)
		}
		e.inside(p.Extra, "")
		return
	}
	rest := *p
	if e.breaks && role != llm.RoleAssistant && p.CacheControl != nil && compose.Breaks(&e.Writer, p.CacheControl) {
		rest.CacheControl = nil
	}
	e.DropMarks(&rest)
}
