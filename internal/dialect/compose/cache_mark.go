package compose

import (
	"slices"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Names of the fields of prompt caches. CacheMark marks the end of a cached prefix in Anthropic's wire format and those
// of several routers, Breakpoint in OpenAI's; CacheKey names a conversation for OpenAI's cache.
//
// https://platform.claude.com/docs/en/build-with-claude/prompt-caching,
// https://developers.openai.com/api/docs/guides/prompt-caching (copies of September and October 2026).
const (
	CacheMark  = "cache_control"
	Breakpoint = "prompt_cache_breakpoint"
	CacheKey   = "prompt_cache_key"
)

// ExplicitBreakpoint is the value of a Breakpoint. Its lifetime is that of the request.
const ExplicitBreakpoint = `{"mode":"explicit"}`

// ephemeral is a CacheMark with the vendor's default lifetime.
const ephemeral = `{"type":"ephemeral"}`

// IsBreakpoint reports whether a mark is OpenAI's, with a lifetime that prices of cache writes cover.
func IsBreakpoint(mark []byte) bool {
	return rawjson.Text(rawjson.Get(mark, "mode")) == "explicit" && !IsLongCache(mark)
}

// IsLongCache reports whether a mark or the options of OpenAI's prompt cache request more than 30 minutes, the time
// that prices of cache writes cover (https://developers.openai.com/api/docs/guides/prompt-caching, undated copy of
// 2026).
func IsLongCache(options []byte) bool {
	ttl := rawjson.Get(options, "ttl")
	return rawjson.Present(ttl) && rawjson.Text(ttl) != "30m"
}

// MarkName returns the name of the member that a mark had in a body of OpenAI's wire formats.
func MarkName(mark []byte) string {
	if IsBreakpoint(mark) {
		return Breakpoint
	}
	return CacheMark
}

// Ephemeral returns a mark as a CacheMark; nil for an unknown one. The lifetimes of OpenAI's marks, of 30 minutes and
// more, have no equal: the mark gets the vendor's default, which never costs more.
func Ephemeral(mark []byte) []byte {
	switch {
	case rawjson.Text(rawjson.Get(mark, "type")) == "ephemeral":
		return mark
	case IsBreakpoint(mark):
		return []byte(ephemeral)
	}
	return nil
}

// Breaks writes a mark of another wire format as a breakpoint, whose lifetime is fixed. It reports false, and writes
// nothing, if the mark is unknown.
func Breaks(w *Writer, mark []byte) bool {
	if Ephemeral(mark) == nil {
		return false
	}
	if rawjson.Text(rawjson.Get(mark, "ttl")) == "1h" {
		w.Drop("cache_control ttl")
	}
	w.InnerRaw(Breakpoint, []byte(ExplicitBreakpoint))
	return true
}

// CarryCache writes the options of the prompt cache of a request in the other one of OpenAI's wire formats, which has
// the same, if the provider is known to accept them, because strict servers refuse the whole request; and the key that
// was added to the request. breaks says that OpenAI's model accepts breakpoints: it refuses the older models'
// retention, and these its options. An option at an unknown price stays behind.
//
// https://github.com/anomalyco/opencode/issues/49240, https://github.com/openai/codex/issues/39397,
// https://github.com/anomalyco/opencode/issues/36315 (read 2026-11-29).
func CarryCache(w *Writer, r *llm.Request, other string, breaks bool) {
	if r.CacheKey != "" {
		w.Text(CacheKey, r.CacheKey)
	}
	if r.ExtraOf != other || !w.Quirks.CacheKey {
		return
	}
	for _, f := range r.Extra {
		switch f.Name {
		case CacheKey:
		case "prompt_cache_retention":
			if breaks {
				continue
			}
		case "prompt_cache_options":
			if !breaks || IsLongCache(f.Value) {
				continue
			}
		default:
			continue
		}
		w.carried = append(w.carried, f.Name)
		w.Raw(f.Name, f.Value)
	}
}

// placed returns the request with a mark for the whole request, which only Anthropic has, as a mark on its last part.
// https://platform.claude.com/docs/en/build-with-claude/prompt-caching#automatic-caching (copy of October 2026).
func placed(r *llm.Request) *llm.Request {
	at := slices.IndexFunc(r.Extra, func(f llm.Field) bool { return f.Name == CacheMark })
	if at < 0 || len(r.Messages) == 0 {
		return r
	}
	last := len(r.Messages) - 1
	parts := slices.Clone(r.Messages[last].Parts)
	end := len(parts) - 1
	for end >= 0 && !parts[end].TakesMark() {
		end--
	}
	if end < 0 {
		return r
	}
	in := *r
	if parts[end].CacheControl == nil {
		parts[end].CacheControl = r.Extra[at].Value
		in.Messages = slices.Clone(r.Messages)
		in.Messages[last].Parts = parts
	}
	in.Extra = slices.Delete(slices.Clone(r.Extra), at, at+1)
	return &in
}
