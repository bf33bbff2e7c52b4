// Package stamp adds the gateway's members to an answer in any wire format: the cost, in US dollars, to its usage
// object, and after more than one attempt a member about the attempts. If a provider's usage object already has a
// cost, that stays, and the gateway's cost is next to the attempts.
package stamp

import (
	"bytes"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Reply appends to dst a reply, or the data of one stream event, with the cost in its usage object of that name and,
// after more than one attempt, the attempts. Without a usage object the bytes are unchanged.
func Reply(dst, data []byte, name string, f *llm.Final) []byte {
	usage, last := find(data, name)
	return At(dst, data, usage, last, f)
}

// Cost appends the cost to an open usage object, if it is known.
func Cost(dst []byte, cost *llm.Money) []byte {
	if cost == nil {
		return dst
	}
	return cost.AppendText(append(dst, `,"cost":`...))
}

// Has reports whether a reply, or the data of one stream event, has the usage object of that name.
func Has(data []byte, name string) bool {
	usage, _ := find(data, name)
	return usage.Value != nil
}

// find returns the usage object of that name and the end of the last member.
func find(data []byte, name string) (usage rawjson.Member, last int) {
	for m := range rawjson.Members(data) {
		if m.Is(name) && rawjson.KindOf(m.Value) == rawjson.Object {
			usage = m
		}
		last = m.Start + len(m.Value)
	}
	return usage, last
}

// At does the same as Reply with a usage object anywhere in data, at a position counted from there; last is the end
// of the last member. If usage is zero, the bytes are unchanged.
func At(dst, data []byte, usage rawjson.Member, last int, f *llm.Final) []byte {
	if usage.Value == nil {
		return append(dst, data...)
	}
	if v := usage.Value; f.Cost != nil && f.Attempts <= 1 && bytes.HasPrefix(v, []byte(`{"`)) &&
		!bytes.Contains(v, []byte(`"cost"`)) && bytes.IndexByte(v, '\\') < 0 { // nearly always
		at := usage.Start + 1
		dst = f.Cost.AppendText(append(append(dst, data[:at]...), `"cost":`...))
		return append(append(dst, ','), data[at:]...)
	}
	var (
		room  [2]rawjson.Edit
		text  [24]byte
		edits = room[:0]
	)
	ownCost := f.Cost != nil && IsCost(rawjson.Get(usage.Value, "cost"))
	if f.Cost != nil && !ownCost {
		e := rawjson.Set(usage.Value, "cost", f.Cost.AppendText(text[:0]))
		e.Start += usage.Start
		e.End += usage.Start
		edits = append(edits, e)
	}
	if ownCost || f.Attempts > 1 {
		e := member(data, last, f, ownCost)
		if len(edits) > 0 && e.Start < edits[0].Start {
			edits = append([]rawjson.Edit{e}, edits...)
		} else {
			edits = append(edits, e)
		}
	}
	return rawjson.Splice(dst, data, edits...)
}

// IsCost reports whether a value is a provider's cost of an answer: a number, or an object with parts of the cost.
func IsCost(v []byte) bool {
	kind := rawjson.KindOf(v)
	return kind == rawjson.Number || kind == rawjson.Object
}

// member returns the edit that writes the gateway's own member, in place of one of another gateway or after the last
// member.
func member(data []byte, last int, f *llm.Final, cost bool) rawjson.Edit {
	for m := range rawjson.Members(data) {
		if m.Is("weir") {
			return rawjson.Edit{Start: m.Start, End: m.Start + len(m.Value), Text: value(nil, f, cost)}
		}
	}
	return rawjson.Edit{Start: last, End: last, Text: value([]byte(`,"weir":`), f, cost)}
}

// value appends the gateway's own member: the cost, if the usage object has no room for it, and, after more than one
// attempt, the attempts.
func value(dst []byte, f *llm.Final, cost bool) []byte {
	dst = append(dst, '{')
	if cost {
		dst = append(f.Cost.AppendText(append(dst, `"cost_usd":"`...)), '"')
	}
	if f.Attempts > 1 {
		if cost {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendCount(dst, `"attempts":`, int64(f.Attempts))
		dst = rawjson.AppendStrings(append(dst, `,"models":`...), f.Models)
	}
	return append(dst, '}')
}

// Attempts appends, after more than one attempt, a member about the attempts.
func Attempts(dst []byte, f *llm.Final) []byte { return AttemptsAndCost(dst, f, false) }

// AttemptsAndCost does the same, with the cost if the usage object has the provider's own.
func AttemptsAndCost(dst []byte, f *llm.Final, cost bool) []byte {
	if !cost && f.Attempts <= 1 {
		return dst
	}
	return value(append(dst, `,"weir":`...), f, cost)
}
