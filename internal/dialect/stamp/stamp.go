// Package stamp writes what the gateway adds to an answer in the words of any
// wire format: the cost, in US dollars, as a member of its usage object, and
// after more than one attempt a member that tells of them.
package stamp

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Reply appends to dst a reply, or the data of one stream event, with the cost
// in its usage object, which is the member of that name, and, after more than
// one attempt, what was tried. Without a usage object the bytes stay as they
// are.
func Reply(dst, data []byte, name string, f *llm.Final) []byte {
	var usage rawjson.Member
	var last int // behind the last member
	for m := range rawjson.Members(data) {
		if m.Is(name) && rawjson.KindOf(m.Value) == rawjson.Object {
			usage = m
		}
		last = m.Start + len(m.Value)
	}
	return At(dst, data, usage, last, f)
}

// At does the same with a usage object that stands anywhere in data, its place
// counted from there; last is the place behind the last member. A zero usage
// leaves the bytes as they are.
func At(dst, data []byte, usage rawjson.Member, last int, f *llm.Final) []byte {
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
		edits = append(edits, rawjson.Edit{Start: last, End: last, Text: Attempts(nil, f)})
	}
	return rawjson.Splice(dst, data, edits...)
}

// Attempts appends, after more than one attempt, a further member that tells of
// them.
func Attempts(dst []byte, f *llm.Final) []byte {
	if f.Attempts <= 1 {
		return dst
	}
	dst = rawjson.AppendCount(dst, `,"weir":{"attempts":`, int64(f.Attempts))
	return append(rawjson.AppendStrings(append(dst, `,"models":`...), f.Models), '}')
}
