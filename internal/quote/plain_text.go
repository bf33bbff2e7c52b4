package quote

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Most requests are texts of roles and numbers. That they are shows without
// their tree, whose decoding would be most of what a budget costs a request.

var (
	usualRoles = rawjson.Names{"system", "developer", "user", "assistant"}
	capMembers = rawjson.Names{"max_tokens", "max_completion_tokens"}
)

// PlainText is read for a request of texts alone that goes to the target as it
// came. It reports false for any other, and for one with a name that stands twice
// in an object.
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
	if !messages || caps > 1 || (caps == 1) != (q.Head.MaxOutput > 0) { // a cap of 0, or one that is none
		return r, false
	}
	return Inputs{
		own: true, kept: q.Op.Kept != nil, searchInFee: q.hasSearchInFee(), enclosed: q.enclosed(),
		answers: max(1, q.Head.Choices), limit: q.askedCap(), capped: caps == 1,
	}, true
}

// areTexts says whether messages have roles that everybody knows and texts, and
// nothing else.
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

// isText says whether a message is one of a usual role with a text, each given at
// most once.
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

// isRole says whether a string is one of the usual roles, spelt plainly.
func isRole(v []byte) bool { return usualRoles.Has(string(v[1 : len(v)-1])) }
