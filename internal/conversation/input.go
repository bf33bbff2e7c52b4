package conversation

import (
	"weir/internal/rawjson"
)

// said returns the input and the output items of responses.
func said(list []content) (items []item) {
	for i := range list {
		items = append(items, list[i].input...)
		items = append(items, replay(list[i].output())...)
	}
	return items
}

// sizeOf returns the maximum length of a body with these items.
func sizeOf(body []byte, items []item) int64 {
	size := int64(len(body)) + int64(len(inputField)) + 8
	for _, it := range items {
		size += int64(len(it.raw)) + 1
	}
	return size
}

// rewrite returns the body with these items as its input and without previous_response_id. The items then share its
// memory.
func rewrite(body []byte, items []item) []byte {
	out := append(make([]byte, 0, sizeOf(body, items)), '{')
	done := false
	for m := range rawjson.Members(body) {
		switch {
		case m.Is(previousField):
		case m.Is(inputField):
			out, done = appendInput(out, items), true
		default:
			out = append(append(rawjson.AppendString(comma(out), m.Name()), ':'), m.Value...)
		}
	}
	if !done {
		out = appendInput(out, items)
	}
	return append(out, '}')
}

// comma appends a comma if the object that dst ends with has a member.
func comma(dst []byte) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return dst
}

func appendInput(dst []byte, items []item) []byte {
	dst = append(rawjson.AppendString(comma(dst), inputField), ":["...)
	more := false
	for i := range items {
		raw := &items[i].raw
		if *raw == nil {
			continue
		}
		if more {
			dst = append(dst, ',')
		}
		dst, more = append(dst, *raw...), true
		*raw = dst[len(dst)-len(*raw):]
	}
	return append(dst, ']')
}
