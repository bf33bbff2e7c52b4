package gateway

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/route"
)

// Most requests are texts of roles and numbers. That they are shows without
// their tree, whose decoding would be most of what a budget costs a request.

var (
	usualRoles = rawjson.Names{"system", "developer", "user", "assistant"}
	capMembers = rawjson.Names{"max_tokens", "max_completion_tokens"}
)

// plainTextInputs is read for a request of texts alone that goes to the target as it
// came. It reports false for any other, and for one with a name that stands twice
// in an object.
func (c *call) plainTextInputs(t *route.Target) (r costInputs, ok bool) {
	names := c.dialect.Inputs.Plain
	if c.request != nil || names == nil || c.op.Op != llm.OpChat || c.op.Multipart || c.spoken(t) != c.op {
		return r, false
	}
	if _, by := unaskedClass(t.Model); by || c.quirks(t).ReasoningBesideCap {
		return r, false
	}
	var had rawjson.Keys
	messages, caps := false, 0
	for m := range rawjson.Members(c.body) {
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
	if !messages || caps > 1 || (caps == 1) != (c.head.MaxOutput > 0) { // a cap of 0, or one that is none
		return r, false
	}
	return costInputs{
		own: true, kept: c.op.Kept != nil,
		answers: max(1, c.head.Choices), limit: c.head.MaxOutput, capped: caps == 1,
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
