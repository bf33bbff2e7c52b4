package rules

import (
	"bytes"
	"encoding/json"
	"slices"

	"weir/internal/llm"
)

// defaultMark is a mark with the vendor's default lifetime, five minutes.
const defaultMark = `{"type":"ephemeral"}`

// bytesPerToken exceeds the bytes of a token in texts and schemas, so that a prompt is not counted too long.
const bytesPerToken = 4

// Marked returns the request with marks of its prompt cache: after the tools, after the system's instructions, and
// after the last two turns of the user, of which the first was the last one of the request before. No mark ends a
// prompt of fewer than least tokens. A request with a mark of its client is returned unchanged.
func Marked(r *llm.Request, least int64) *llm.Request {
	if hasMark(r) {
		return r
	}
	var f *Fitting
	for _, m := range endings(r) {
		if m.size < least*bytesPerToken {
			continue
		}
		if f == nil {
			f = newFitting(r)
		}
		f.setMark(m.mark, json.RawMessage(defaultMark))
	}
	if f == nil {
		return r
	}
	return f.Request
}

// hasMark reports whether a client set a mark, in any form.
func hasMark(r *llm.Request) bool {
	inRaw := func(raw []byte) bool {
		return bytes.Contains(raw, []byte(`"cache_control"`)) || bytes.Contains(raw, []byte(`"cachePoint"`))
	}
	return len(marksOf(r)) > 0 ||
		slices.ContainsFunc(r.Extra, func(f llm.Field) bool { return f.Name == "cache_control" }) ||
		slices.ContainsFunc(r.Tools, func(t llm.Tool) bool { return inRaw(t.Raw) }) ||
		slices.ContainsFunc(r.Messages, func(m llm.Message) bool {
			return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return inRaw(p.Raw) })
		})
}

// ending is a place where a prompt cache may end, with the bytes of the prompt up to there.
type ending struct {
	mark
	size int64
}

// endings returns the places for marks, in the order in which vendors read a request: at most four.
func endings(r *llm.Request) (all []ending) {
	size, last := int64(0), -1
	for i := range r.Tools {
		t := &r.Tools[i]
		if size += int64(len(t.Name) + len(t.Description) + len(t.Parameters) + len(t.Raw)); t.Raw == nil {
			last = i
		}
	}
	if last >= 0 {
		all = append(all, ending{mark{onTools, last}, size})
	}
	system := ending{mark: mark{message: onTools}}
	for i := range r.Messages {
		if r.Messages[i].Role != llm.RoleSystem {
			continue
		}
		size += lengthOf(r.Messages[i].Parts)
		if part, ok := lastPlace(r.Messages[i].Parts); ok {
			system = ending{mark{i, part}, size}
		}
	}
	if system.message != onTools {
		all = append(all, system)
	}
	turns := userTurns(r, size)
	return append(all, turns[max(0, len(turns)-2):]...)
}

// userTurns returns the ends of the user's turns, which are consecutive messages of the user and results of tools.
func userTurns(r *llm.Request, size int64) (turns []ending) {
	open := false
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Role == llm.RoleSystem {
			continue
		}
		size += lengthOf(m.Parts)
		if m.Role == llm.RoleAssistant {
			open = false
			continue
		}
		part, ok := lastPlace(m.Parts)
		switch {
		case !ok:
		case open:
			turns[len(turns)-1] = ending{mark{i, part}, size}
		default:
			turns, open = append(turns, ending{mark{i, part}, size}), true
		}
	}
	return turns
}

// lastPlace returns the last part that takes a mark: a text or a result if there is one, since routers accept no marks
// on other parts.
func lastPlace(parts []llm.Part) (i int, ok bool) {
	other := -1
	for i := len(parts) - 1; i >= 0; i-- {
		p := &parts[i]
		switch {
		case !p.TakesMark():
		case p.Kind == llm.PartText, p.Kind == llm.PartToolResult:
			return i, true
		case other < 0:
			other = i
		}
	}
	return other, other >= 0
}

// lengthOf returns the bytes of texts, calls and results.
func lengthOf(parts []llm.Part) (n int64) {
	for i := range parts {
		p := &parts[i]
		n += int64(len(p.Text))
		if p.Call != nil {
			n += int64(len(p.Call.Name) + len(p.Call.Arguments))
		}
		if p.Result != nil {
			n += lengthOf(p.Result.Parts)
		}
	}
	return n
}
