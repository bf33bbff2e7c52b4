package simulator

import (
	"slices"

	"weir/internal/rawjson"
)

// set returns the object with another value at the path, if it exists; nil removes the member.
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
			out = rawjson.AppendMember(out, name, v)
		}
	}
	return append(out, '}')
}

// answerMembers hold the answer, in any wire format, in a whole reply or in an event of a stream.
var answerMembers = []string{
	"choices", "output", "content", "candidates", "message", "delta",
	"content_block", "start", "item", "part", "text", "arguments",
}

// withoutAnswer returns the object without the answer. Usage within an answer's member stays.
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
		out = rawjson.AppendMember(out, name, v)
	}
	return append(out, '}')
}

// replaceCode sets the vendor's code in an error body that has a place for it: error.code, unless that is a number.
func replaceCode(body []byte, code string) []byte {
	path := []string{"error", "code"}
	kind := rawjson.KindOf(rawjson.Get(body, path...))
	if code == "" || kind != rawjson.String && kind != rawjson.Null {
		return body
	}
	return set(body, path, rawjson.AppendString(nil, code))
}
