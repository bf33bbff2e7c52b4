package simulator

import (
	"bytes"
	"slices"

	"weir/internal/rawjson"
	"weir/internal/sse"
)

// The ways in which usage can be told wrongly.
const (
	usageMissing    = "missing"    // no usage at all
	usageNone       = "none"       // usage is null
	usageZero       = "zero"       // every count is 0
	usageNoDetails  = "nodetails"  // without the nested objects
	usageOver       = "over"       // overUsage more output than there was
	usageNegative   = "negative"   // every count negative
	usageHuge       = "huge"       // every count 2^63, which no int64 holds
	usageFloat      = "float"      // every count with a fraction
	usageTwice      = "twice"      // the same usage in two events of a stream
	usageDecreasing = "decreasing" // in two events of a stream, the first one higher
)

var usageVariants = []string{
	usageMissing, usageNone, usageZero, usageNoDetails, usageOver,
	usageNegative, usageHuge, usageFloat, usageTwice, usageDecreasing,
}

const overUsage = 1_000_000

// findUsage is the usage member of a reply or of a piece of one, or of the
// response in such a piece, where there is one that is not null.
func findUsage(data []byte) (rawjson.Member, bool) {
	for m := range rawjson.Members(data) {
		if m.Is("usage") && rawjson.Present(m.Value) {
			return m, true
		}
		if !m.Is("response") {
			continue
		}
		if inner, ok := findUsage(m.Value); ok {
			inner.Start += m.Start
			return inner, true
		}
	}
	return rawjson.Member{}, false
}

// amendBody makes the usage of a whole reply what the variant asks for. Raw is
// its text where the variant changed it beyond what the vocabulary expresses.
func amendBody(body []byte, variant string) (amended []byte, raw string) {
	if variant == "" {
		return body, ""
	}
	m, ok := findUsage(body)
	if !ok {
		return body, ""
	}
	if variant == usageMissing {
		return without(body, "usage"), ""
	}
	edit := rawUsage(variant)
	if edit == nil {
		return body, ""
	}
	text := edit(m.Value)
	raw = string(text)
	return rawjson.Splice(nil, body, rawjson.Edit{Start: m.Start, End: m.Start + len(m.Value), Text: text}), raw
}

// amendEvents does the same to the last events of a stream, and tells whether
// any of them has usage.
func amendEvents(b []byte, variant string) (amended []byte, reported bool, raw string) {
	if variant == "" {
		return b, eventsReport(b), ""
	}
	for _, f := range splitEvents(b) {
		_, has := findUsage(f.data)
		if has {
			reported = true
			if variant == usageTwice {
				amended = sse.Append(amended, f.name, f.data)
			}
			if variant == usageDecreasing {
				higher, _ := amendNumbers(f.data, higherNumber)
				amended = sse.Append(amended, f.name, higher)
			}
			var text string
			if f.data, text = amendBody(f.data, variant); text != "" {
				raw = text
			}
		}
		amended = sse.Append(amended, f.name, f.data)
	}
	return amended, reported, raw
}

// eventsReport reports whether one of the events has usage.
func eventsReport(b []byte) bool {
	for _, f := range splitEvents(b) {
		if _, has := findUsage(f.data); has {
			return true
		}
	}
	return false
}

// amendNumbers changes the numbers of the usage member.
func amendNumbers(data []byte, edit func(dst, number []byte) []byte) ([]byte, bool) {
	m, ok := findUsage(data)
	if !ok {
		return data, false
	}
	text := mapNumbers(m.Value, edit)
	return rawjson.Splice(nil, data, rawjson.Edit{Start: m.Start, End: m.Start + len(m.Value), Text: text}), true
}

// rawUsage is how a variant changes the text of a usage object; nil for a
// variant that is made before there is text.
func rawUsage(variant string) func([]byte) []byte {
	numbers := func(edit func(dst, number []byte) []byte) func([]byte) []byte {
		return func(v []byte) []byte { return mapNumbers(v, edit) }
	}
	switch variant {
	case usageNone:
		return func([]byte) []byte { return []byte("null") }
	case usageNoDetails:
		return flatMembers
	case usageNegative:
		return numbers(negativeNumber)
	case usageHuge:
		return numbers(func(dst, _ []byte) []byte { return append(dst, "9223372036854775808"...) })
	case usageFloat:
		return numbers(func(dst, n []byte) []byte { return append(append(dst, n...), ".5"...) })
	}
	return nil
}

func negativeNumber(dst, n []byte) []byte {
	if string(n) == "0" {
		n = []byte("1")
	}
	return append(append(dst, '-'), n...)
}

func higherNumber(dst, n []byte) []byte { return append(append(dst, '1'), n...) }

// mapNumbers replaces the whole numbers that are values in v.
func mapNumbers(v []byte, edit func(dst, number []byte) []byte) []byte {
	switch rawjson.KindOf(v) {
	case rawjson.Number:
		return edit(nil, bytes.TrimSpace(v))
	case rawjson.Object:
		out := []byte{'{'}
		for m := range rawjson.Members(v) {
			out = appendMember(out, m.Name(), mapNumbers(m.Value, edit))
		}
		return append(out, '}')
	}
	return v
}

// flatMembers is the object without its members that are objects.
func flatMembers(v []byte) []byte {
	out := []byte{'{'}
	for m := range rawjson.Members(v) {
		if rawjson.KindOf(m.Value) != rawjson.Object {
			out = appendMember(out, m.Name(), m.Value)
		}
	}
	return append(out, '}')
}

// answerMembers hold the answer, in one wire format or another.
var answerMembers = []string{"choices", "output", "content", "candidates", "message"}

// without is the object without the members of these names.
func without(data []byte, names ...string) []byte {
	if rawjson.KindOf(data) != rawjson.Object {
		return data
	}
	out := []byte{'{'}
	for m := range rawjson.Members(data) {
		if name := m.Name(); !slices.Contains(names, name) {
			out = appendMember(out, name, m.Value)
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

// frame is one server-sent event.
type frame struct {
	name string
	data []byte
}

// splitEvents reads what an encoder wrote: events of one data line each, for
// JSON has no line breaks. The data shares memory with b.
func splitEvents(b []byte) []frame {
	frames := make([]frame, 0, 4)
	name := ""
	for line := range bytes.Lines(b) {
		field, value, _ := bytes.Cut(bytes.TrimSuffix(line, []byte{'\n'}), []byte(": "))
		switch string(field) {
		case "event":
			name = string(value)
		case "data":
			frames = append(frames, frame{name, value})
			name = ""
		}
	}
	return frames
}

// editEvents changes the data of every event in b.
func editEvents(b []byte, edit func(data []byte, last bool) []byte) []byte {
	var out []byte
	frames := splitEvents(b)
	for i, f := range frames {
		out = sse.Append(out, f.name, edit(f.data, i == len(frames)-1))
	}
	return out
}

// errorCode is where wire formats put their own word for an error.
func errorCode(body []byte) (rawjson.Member, int, bool) {
	for m := range rawjson.Members(body) {
		if !m.Is("error") {
			continue
		}
		for inner := range rawjson.Members(m.Value) {
			if inner.Is("code") {
				return inner, m.Start + inner.Start, true
			}
		}
	}
	return rawjson.Member{}, 0, false
}

// replaceCode puts the vendor's word into an error body that has a place for
// one.
func replaceCode(body []byte, code string) []byte {
	if code == "" {
		return body
	}
	m, at, ok := errorCode(body)
	if !ok {
		return body
	}
	return rawjson.Splice(nil, body, rawjson.Edit{Start: at, End: at + len(m.Value), Text: rawjson.AppendString(nil, code)})
}
