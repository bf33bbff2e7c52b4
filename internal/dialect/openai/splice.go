package openai

import (
	"bytes"
	"slices"
	"strconv"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/proof"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Splice appends to dst a body of this format with the provider's model name, a request for usage if it is a stream,
// and an output cap if s sets one and the client sent none, null, or a value that means no limit. All other bytes stay,
// except top-level fields that the provider names otherwise or refuses, and signatures of other vendors' thinking. The
// head is that of Scan.
func Splice(dst, body []byte, h *llm.Head, s llm.Splice, q *llm.Quirks) []byte {
	if q == nil {
		q = &llm.Quirks{}
	}
	given, none := h.MaxOutput > 0, h.NoCap != ""
	if !h.Usual {
		body, h = withoutSignatures(body, h)
	}
	if quirky(body, q) {
		body = requirk(body, q)
		h = relocate(body)
	}
	edits := make([]rawjson.Edit, 0, 3)
	var front []byte // members written before the others
	model := rawjson.AppendString(nil, s.Model)
	if h.ModelSpan.Present() {
		edits = append(edits, compose.Replace(h.ModelSpan, model))
	} else {
		front = append(append(append(front, `"model":`...), model...), ',')
	}
	if s.Stream && !q.NoStreamOptions {
		if h.StreamOptionsSpan.Present() {
			edits = append(edits, askForUsage(body, h.StreamOptionsSpan))
		} else {
			front = append(front, `"stream_options":{"include_usage":true},`...)
		}
	}
	if s.MaxOutput > 0 && !given && (none || !rawjson.Present(rawjson.Get(body, capField(q)))) {
		limit := strconv.AppendInt(nil, s.MaxOutput, 10)
		if span := compose.Find(body, capField(q)); span.Present() {
			edits = append(edits, compose.Replace(span, limit))
		} else {
			front = append(rawjson.AppendString(front, capField(q)), ':')
			front = append(append(front, limit...), ',')
		}
	}
	if h.Empty {
		front = bytes.TrimSuffix(front, []byte{','})
	}
	if len(front) > 0 {
		edits = append(edits, rawjson.Edit{Start: h.Open, End: h.Open, Text: front})
	}
	slices.SortFunc(edits, func(a, b rawjson.Edit) int { return a.Start - b.Start })
	return rawjson.Splice(dst, body, edits...)
}

// withoutSignatures returns a body without signatures of other vendors, and its head.
func withoutSignatures(body []byte, h *llm.Head) ([]byte, *llm.Head) {
	stripped := proof.Strip(body, "messages", withoutForeign)
	if len(stripped) == len(body) {
		return body, h
	}
	other := *h
	other.ModelSpan, other.StreamOptionsSpan = compose.Find(stripped, "model"),
		compose.Find(stripped, "stream_options")
	return stripped, &other
}

// withoutForeign returns a message without other vendors' signatures, and without their list if it is then empty.
func withoutForeign(message []byte) []byte {
	message = proof.EditMember(unsigned(message), "tool_calls", unsigned)
	stripped := proof.EditMember(message, "reasoning_details", func(v []byte) []byte {
		if d := readDetail(v); proof.IsSealed(d.signature) || proof.IsSealed(d.data) {
			return nil
		}
		return v
	})
	if stripped != nil {
		return stripped
	}
	return rawjson.Rewrite(message, func(name string) string {
		if name == "reasoning_details" {
			return ""
		}
		return name
	})
}

// askForUsage sets the option for usage; the options may be null, and their other members stay.
func askForUsage(body []byte, s llm.Span) rawjson.Edit {
	options := body[s.Start:s.End]
	if rawjson.KindOf(options) != rawjson.Object {
		return compose.Replace(s, []byte(`{"include_usage":true}`))
	}
	e := rawjson.Set(options, "include_usage", []byte("true"))
	e.Start += s.Start
	e.End += s.Start
	return e
}

func capField(q *llm.Quirks) string {
	if q.MaxOutputField != "" {
		return q.MaxOutputField
	}
	return outputCap
}

// quirky reports whether the provider needs another form of the body.
func quirky(body []byte, q *llm.Quirks) bool {
	if q.MaxOutputField == "" && !q.NoStreamOptions && q.RequiredToolChoice == "" && len(q.Rename) == 0 &&
		len(q.Drop) == 0 {
		return false
	}
	for m := range rawjson.Members(body) {
		if name, value := quirkOf(m, q); name != m.Name() || !bytes.Equal(value, m.Value) {
			return true
		}
	}
	return false
}

// quirkOf returns the member in the provider's form; an empty name drops it. A cap under a name that the provider
// ignores would not limit anything.
func quirkOf(m rawjson.Member, q *llm.Quirks) (name string, value []byte) {
	name, value = m.Name(), m.Value
	switch {
	case slices.Contains(q.Drop, name), name == "stream_options" && q.NoStreamOptions:
		return "", nil
	case isCap(name) && q.MaxOutputField != "":
		return q.MaxOutputField, value
	case name == "tool_choice" && q.RequiredToolChoice != "" && rawjson.Text(value) == string(llm.ToolsRequired):
		return name, rawjson.AppendString(nil, q.RequiredToolChoice)
	}
	if other, ok := q.Rename[name]; ok {
		name = other
	}
	return name, value
}

// requirk rewrites the body in the provider's form. If two output caps become one, the one that is not deprecated
// counts, if it has a value.
func requirk(body []byte, q *llm.Quirks) []byte {
	out := append(make([]byte, 0, len(body)+64), '{')
	limit := capOf(body)
	for m := range rawjson.Members(body) {
		name, value := quirkOf(m, q)
		if name == "" || q.MaxOutputField != "" && isCap(m.Name()) && m.Name() != limit {
			continue
		}
		out = rawjson.AppendMember(out, name, value)
	}
	return append(out, '}')
}

func isCap(name string) bool { return name == outputCap || name == legacyOutputCap }

// capOf returns the name of the body's output cap.
func capOf(body []byte) string {
	if rawjson.Present(rawjson.Get(body, outputCap)) {
		return outputCap
	}
	return legacyOutputCap
}

// relocate finds the places that Splice needs in a rewritten body.
func relocate(body []byte) *llm.Head {
	return &llm.Head{
		Open: 1, Empty: len(body) == 2,
		ModelSpan:         compose.Find(body, "model"),
		StreamOptionsSpan: compose.Find(body, "stream_options"),
	}
}
