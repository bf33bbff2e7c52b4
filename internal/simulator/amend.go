package simulator

import (
	"slices"

	"weir/internal/rawjson"
)

// set is the object with another value at the path, where there is one; nil
// leaves the member out.
func set(data []byte, path []string, value []byte) []byte {
	if rawjson.KindOf(data) != rawjson.Object {
		return data
	}
	out := []byte{'{'}
	for m := range rawjson.Members(data) {
		name, v := m.Name(), m.Value
		if name == path[0] {
			if v = value; len(path) > 1 {
				v = set(m.Value, path[1:], value)
			}
		}
		if v != nil {
			out = appendMember(out, name, v)
		}
	}
	return append(out, '}')
}

// appendMember appends a member to an object that has not been closed.
func appendMember(dst []byte, name string, value []byte) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(append(rawjson.AppendString(dst, name), ':'), value...)
}

// answerMembers hold the answer, in one wire format or another, in a whole reply
// or in an event of a stream.
var answerMembers = []string{
	"choices", "output", "content", "candidates", "message", "delta",
	"content_block", "start", "item", "part", "text", "arguments",
}

// withoutAnswer is the object without the answer. The usage that stands within
// an answer's member stays.
func withoutAnswer(data []byte) []byte {
	if rawjson.KindOf(data) != rawjson.Object {
		return data
	}
	out := []byte{'{'}
	for m := range rawjson.Members(data) {
		name, v := m.Name(), m.Value
		switch {
		case name == "response" || rawjson.Present(rawjson.Get(v, "usage")):
			v = withoutAnswer(v)
		case slices.Contains(answerMembers, name):
			continue
		}
		out = appendMember(out, name, v)
	}
	return append(out, '}')
}

// replaceCode puts the vendor's word into an error body that has a place for
// one: error.code, unless it is a number there.
func replaceCode(body []byte, code string) []byte {
	path := []string{"error", "code"}
	kind := rawjson.KindOf(rawjson.Get(body, path...))
	if code == "" || kind != rawjson.String && kind != rawjson.Null {
		return body
	}
	return set(body, path, rawjson.AppendString(nil, code))
}
