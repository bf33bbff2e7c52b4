// Package stamp writes what the gateway adds to an answer in the words of any
// wire format: the cost, in US dollars, as a member of its usage object, and
// after more than one attempt a member that tells of them.
package stamp

import (
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Reply appends to dst a reply, or the data of one stream event, with the cost
// in its usage object and, after more than one attempt, what was tried. Without
// a usage object the bytes stay as they are.
func Reply(dst, data []byte, f *llm.Final) []byte {
	var usage rawjson.Member
	var last int // behind the last member
	for m := range rawjson.Members(data) {
		if m.Is("usage") && rawjson.KindOf(m.Value) == rawjson.Object {
			usage = m
		}
		last = m.Start + len(m.Value)
	}
	if usage.Value == nil {
		return append(dst, data...)
	}
	edits := make([]rawjson.Edit, 0, 2)
	if f.Cost != nil {
		e := rawjson.Set(usage.Value, "cost", f.Cost.AppendText(nil))
		e.Start += usage.Start
		e.End += usage.Start
		edits = append(edits, e)
	}
	if f.Attempts > 1 {
		text := Attempts([]byte{','}, f)
		edits = append(edits, rawjson.Edit{Start: last, End: last, Text: text})
	}
	return rawjson.Splice(dst, data, edits...)
}

// Attempts appends the member that tells of an answer which took more than one
// attempt.
func Attempts(dst []byte, f *llm.Final) []byte {
	dst = strconv.AppendInt(append(dst, `"weir":{"attempts":`...), int64(f.Attempts), 10)
	dst = append(dst, `,"models":[`...)
	for i, model := range f.Models {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendString(dst, model)
	}
	return append(dst, "]}"...)
}
