package simulator

import (
	"bytes"
	"slices"

	"weir/internal/dialect"
	"weir/internal/rawjson"
)

// The variants of wrong usage.
const (
	usageMissing    = "missing"    // no usage at all
	usageNone       = "none"       // usage is null
	usageZero       = "zero"       // every count is 0
	usageNoDetails  = "nodetails"  // without the nested objects
	usageOver       = "over"       // overUsage more than the true output
	usageNegative   = "negative"   // every count negative
	usageHuge       = "huge"       // every count 2^63, which exceeds an int64
	usageFloat      = "float"      // every count with a fraction
	usageTwice      = "twice"      // the same usage in two events of a stream
	usageDecreasing = "decreasing" // in two events of a stream, the first one higher
)

var usageVariants = []string{
	usageMissing, usageNone, usageZero, usageNoDetails, usageOver,
	usageNegative, usageHuge, usageFloat, usageTwice, usageDecreasing,
}

const overUsage = 1_000_000

// tellsUsage reports whether the end of a stream, as an encoder of d writes it, has usage. It need not parse the
// stream: text is escaped, so that such a name in it does not look like a member.
func tellsUsage(d *dialect.Dialect, b []byte) bool {
	for _, path := range d.UsageAt {
		member := []byte(`"` + path[len(path)-1] + `":`)
		for rest := b; ; {
			_, value, found := bytes.Cut(rest, member)
			if !found {
				break
			}
			if rawjson.Present(value) {
				return true
			}
			rest = value
		}
	}
	return false
}

// hasUsage reports whether an event, or a whole reply, has usage.
func hasUsage(d *dialect.Dialect, data []byte) bool {
	return slices.ContainsFunc(d.UsageAt, func(path []string) bool {
		return rawjson.Present(rawjson.Get(data, path...))
	})
}

// amendUsage replaces every usage in data; nil removes it. Raw is the last new text, or the object of all single
// counts.
func amendUsage(d *dialect.Dialect, data []byte, edit func(v []byte) []byte) (amended, raw []byte) {
	counts := []byte{'{'}
	for _, path := range d.UsageAt {
		v := rawjson.Get(data, path...)
		if !rawjson.Present(v) {
			continue
		}
		text := edit(v)
		data = set(data, path, text)
		switch {
		case rawjson.KindOf(v) == rawjson.Object:
			raw = text
		case text != nil:
			counts = rawjson.AppendMember(counts, path[len(path)-1], text)
		}
	}
	if len(counts) > 1 {
		raw = append(counts, '}')
	}
	return data, raw
}

// amendBody applies the variant to the usage of a whole reply, or of an event. Raw is its text if llm.Usage cannot
// express it.
func amendBody(d *dialect.Dialect, body []byte, variant string) (amended []byte, raw string) {
	edit := rawUsage(variant)
	if edit == nil {
		return body, ""
	}
	amended, text := amendUsage(d, body, edit)
	return amended, string(text)
}

// amendEvents does the same to the last events of a stream, and reports whether any of them still has usage.
func amendEvents(d *dialect.Dialect, b []byte, variant string) (amended []byte, reported bool, raw string) {
	if variant == "" {
		return b, tellsUsage(d, b), ""
	}
	f := &d.Framing
	frames := splitEvents(f, b)
	for i := range frames {
		fr := &frames[i]
		if !hasUsage(d, fr.data) {
			amended = appendEvent(amended, f, fr, fr.data)
			continue
		}
		reported = variant != usageMissing
		switch variant {
		case usageTwice:
			amended = appendEarlier(amended, d, fr, func(v []byte) []byte { return v })
		case usageDecreasing:
			amended = appendEarlier(amended, d, fr, func(v []byte) []byte { return mapNumbers(v, higherNumber) })
		}
		data, text := amendBody(d, fr.data, variant)
		if text != "" {
			raw = text
		}
		amended = appendEvent(amended, f, fr, data)
	}
	return amended, reported, raw
}

// unfinished holds the changes that turn an event at the end of a stream into an earlier one. An empty now removes the
// member.
var unfinished = []struct {
	path     []string
	was, now string // was: the only value that changes; empty for any
}{
	{[]string{"candidates"}, "", ""},                                      // Gemini's
	{[]string{"done"}, `true`, `false`},                                   // Ollama's
	{[]string{"done_reason"}, "", ""},                                     // Ollama's
	{[]string{"delta", "finish_reason"}, "", ""},                          // Cohere's
	{[]string{"type"}, `"response.completed"`, `"response.in_progress"`},  // Responses'
	{[]string{"type"}, `"response.incomplete"`, `"response.in_progress"`}, // Responses'
	{[]string{"response", "status"}, `"completed"`, `"in_progress"`},      // Responses'
	{[]string{"response", "status"}, `"incomplete"`, `"in_progress"`},     // Responses'
}

// appendEarlier appends an event that reports the usage before the true one does.
func appendEarlier(dst []byte, d *dialect.Dialect, fr *frame, edit func(v []byte) []byte) []byte {
	data, _ := amendUsage(d, fr.data, edit)
	for _, u := range unfinished {
		v := rawjson.Get(data, u.path...)
		if v == nil || u.was != "" && u.was != string(v) {
			continue
		}
		var now []byte
		if u.now != "" {
			now = []byte(u.now)
		}
		data = set(data, u.path, now)
	}
	early := *fr
	if early.name == rawjson.Text(rawjson.Get(fr.data, "type")) {
		early.name = rawjson.Text(rawjson.Get(data, "type"))
	}
	return appendEvent(dst, &d.Framing, &early, data)
}

// rawUsage returns the change of a variant to the text of a usage object or count, which returns nil to remove it; it
// returns nil for a variant that applies before encoding.
func rawUsage(variant string) func([]byte) []byte {
	numbers := func(edit func(dst, number []byte) []byte) func([]byte) []byte {
		return func(v []byte) []byte { return mapNumbers(v, edit) }
	}
	switch variant {
	case usageMissing:
		return func([]byte) []byte { return nil }
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
			out = rawjson.AppendMember(out, m.Name(), mapNumbers(m.Value, edit))
		}
		return append(out, '}')
	case rawjson.Array:
		out := []byte{'['}
		for _, e := range rawjson.Elements(v) {
			out = append(rawjson.AppendComma(out), mapNumbers(e, edit)...)
		}
		return append(out, ']')
	}
	return v
}

// flatMembers returns the object without nested objects, except Cohere's "tokens", which are the counts themselves.
func flatMembers(v []byte) []byte {
	if rawjson.KindOf(v) != rawjson.Object {
		return v
	}
	out := []byte{'{'}
	for m := range rawjson.Members(v) {
		kind := rawjson.KindOf(m.Value)
		if kind != rawjson.Object && kind != rawjson.Array || m.Is("tokens") {
			out = rawjson.AppendMember(out, m.Name(), m.Value)
		}
	}
	return append(out, '}')
}
