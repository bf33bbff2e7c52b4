package quote

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Most requests have only texts with roles and numbers. The code below recognises them without decoding, which would
// be most of the work for a request under a budget.

var (
	usualRoles = rawjson.Names{"system", "developer", "user", "assistant"}
	capMembers = rawjson.Names{"max_tokens", "max_completion_tokens"}
)

// PlainText returns the Inputs of a request with only texts that is sent to the target unchanged. It reports false
// for any other, and for one with a repeated name in an object.
func (q *Quote) PlainText() (r Inputs, ok bool) {
	names := q.Dialect.Inputs.Plain
	if names == nil || q.Op.Op != llm.OpChat || q.Op.Multipart || q.Spoken != q.Op {
		return r, false
	}
	if _, by := unaskedClass(q.Target.Model); by || q.Quirks.ReasoningBesideCap {
		return r, false
	}
	var had rawjson.Keys
	messages, caps := false, 0
	for m := range rawjson.Members(q.Body) {
		kind, twice := rawjson.KindOf(m.Value), !had.Add(m.Key())
		switch key := string(m.Key()); {
		case twice || !names.Has(key):
			return r, false
		case key == "messages":
			messages = true
			if !areTexts(m.Value) {
				return r, false
			}
		case key == "stream_options":
			if _, twice := rawjson.Repeated(m.Value); twice {
				return r, false
			}
		case kind == rawjson.Object || kind == rawjson.Array:
			return r, false
		case capMembers.Has(key):
			caps++
		}
	}
	if !messages || caps > 1 || (caps == 1) != (q.Head.MaxOutput > 0) { // a cap of 0, or an invalid one
		return r, false
	}
	return Inputs{
		own: true, kept: q.Op.Kept != nil, searchInFee: q.hasSearchInFee(), enclosed: q.enclosed(),
		answers: max(1, q.Head.Choices), limit: q.askedCap(), capped: caps == 1,
	}, true
}

// areTexts reports whether messages have only known roles and texts.
func areTexts(messages []byte) bool {
	if rawjson.KindOf(messages) != rawjson.Array {
		return false
	}
	some := false
	for _, message := range rawjson.Elements(messages) {
		if some = isText(message); !some {
			return false
		}
	}
	return some
}

// isText reports whether a message has only a usual role and a text, each at most once.
func isText(message []byte) bool {
	if rawjson.KindOf(message) != rawjson.Object {
		return false
	}
	role, content := false, false
	for m := range rawjson.Members(message) {
		had := &content
		if m.Is("role") {
			had = &role
		} else if !m.Is("content") {
			return false
		}
		if *had || rawjson.KindOf(m.Value) != rawjson.String || had == &role && !isRole(m.Value) {
			return false
		}
		*had = true
	}
	return true
}

// isRole reports whether a string is one of the usual roles without escapes.
func isRole(v []byte) bool { return usualRoles.Has(string(v[1 : len(v)-1])) }
