package openai

import (
	"slices"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/rules"
	"weir/internal/llm"
)

// cacheMark is the member of a content part at which a prompt cache ends, as several routers define it.
const cacheMark = compose.CacheMark

// firstBreaking is the first version of GPT that accepts breakpoints: https://docs.rs/async-openai/0.42.0 (OpenAI's
// API description, "Supported for gpt-5.6 and later models", read 2026-11-29). Names without a number are other models.
const firstBreaking rules.Version = 506

// TakesBreakpoints reports whether a provider with these quirks accepts marks of a prompt cache in the form of OpenAI's
// wire formats for a model.
func TakesBreakpoints(q *llm.Quirks, model string) bool {
	v := rules.VersionOf(model, "gpt")
	return q.CacheBreakpoints && v >= firstBreaking && v < rules.Newest
}

// takesMarks reports whether the provider accepts marks on texts, in either form.
func takesMarks(e *messageEncoder) bool { return e.breaks || e.Extends(cacheMark) }

// marked returns the content of a result of another wire format, with the result's cache mark on the last part if that
// has none. Providers that accept marks accept them in content.
func (e *messageEncoder) marked(parts []llm.Part, mark []byte) []llm.Part {
	switch {
	case mark == nil || e.Own:
		return parts
	case !takesMarks(e) || len(parts) == 0 || parts[len(parts)-1].Kind != llm.PartText:
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
func (e *messageEncoder) isPlain(p *llm.Part) bool {
	if p.Kind != llm.PartText {
		return false
	}
	if e.Own {
		return p.CacheControl == nil && len(p.Extra) == 0
	}
	if p.CacheControl != nil && takesMarks(e) {
		return false
	}
	e.DropMarks(p)
	return true
}

// marks writes the cache mark of a part.
func (e *messageEncoder) marks(p *llm.Part) {
	rest := *p
	if mark(e, p) {
		rest.CacheControl = nil
	}
	e.DropMarks(&rest)
	if e.Own {
		e.InnerExtras(p.Extra, "")
	}
}

// mark writes the cache mark of a part if the provider accepts it there. Routers accept marks only on texts, OpenAI on
// all content.
func mark(e *messageEncoder, p *llm.Part) bool {
	switch {
	case p.CacheControl == nil:
		return false
	case e.Own:
		e.InnerRaw(compose.MarkName(p.CacheControl), p.CacheControl)
		return true
	case e.Extends(cacheMark) && p.Kind == llm.PartText:
		value := compose.Ephemeral(p.CacheControl)
		if value != nil {
			e.InnerRaw(cacheMark, value)
		}
		return value != nil
	}
	return e.breaks && compose.Breaks(&e.Writer, p.CacheControl)
}
