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
			out = rawjson.AppendMember(out, m.Name(), m.Value)
		}
	}
	if !done {
		out = appendInput(out, items)
	}
	return append(out, '}')
}

func appendInput(dst []byte, items []item) []byte {
	dst = append(rawjson.AppendName(dst, inputField), '[')
	for i := range items {
		raw := &items[i].raw
		if *raw == nil {
			continue
		}
		dst = append(rawjson.AppendComma(dst), *raw...)
		*raw = dst[len(dst)-len(*raw):]
	}
	return append(dst, ']')
}
