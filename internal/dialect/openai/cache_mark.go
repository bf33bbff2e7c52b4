package openai

import (
	"slices"

	"weir/internal/llm"
)

// cacheMark is the member of a content part at which a prompt cache ends, as several routers define it.
const cacheMark = "cache_control"

// marked returns the content of a result of another wire format, with the result's cache mark on the last part if that
// has none. Providers that accept marks accept them in content.
func (e *requestEncoder) marked(parts []llm.Part, mark []byte) []llm.Part {
	switch {
	case mark == nil || e.Own:
		return parts
	case !e.Extends(cacheMark) || len(parts) == 0 || parts[len(parts)-1].Kind != llm.PartText:
		e.Drop(cacheMark)
		return parts
	}
	parts = slices.Clone(parts)
	if last := &parts[len(parts)-1]; last.CacheControl == nil {
		last.CacheControl = mark
	}
	return parts
}

// isPlain reports whether a part can be a plain string. If so, it notes the fields of the part that are dropped.
func (e *requestEncoder) isPlain(p *llm.Part) bool {
	if p.Kind != llm.PartText {
		return false
	}
	if e.Own {
		return p.CacheControl == nil && len(p.Extra) == 0
	}
	if p.CacheControl != nil && e.Extends(cacheMark) {
		return false
	}
	e.DropMarks(p)
	return true
}

// marks writes the cache mark of a part.
func (e *requestEncoder) marks(p *llm.Part) {
	rest := *p
	if p.CacheControl != nil && (e.Own || e.Extends(cacheMark) && p.Kind == llm.PartText) { // only texts have one
		e.InnerRaw(cacheMark, p.CacheControl)
		rest.CacheControl = nil
	}
	e.DropMarks(&rest)
	if e.Own {
		e.InnerExtras(p.Extra, "")
	}
}
