package redaction

import (
	"bytes"

	"weir/internal/rawjson"
)

// mostNested bounds the JSON in strings of JSON that is read as such: the arguments of tools are JSON in a string.
const mostNested = 4

// maxDepth bounds the arrays and objects in one another in such a string.
const maxDepth = 100

// JSON returns JSON with marks in place of secrets, and how many marks it added. It reads strings without their
// escapes, names of members too. JSON that was cut off stays cut off; its last string is closed.
func (r *Redactor) JSON(text []byte) ([]byte, int) {
	r.begin(len(text))
	return r.json(text, 0), r.n
}

func (r *Redactor) json(text []byte, nested int) []byte {
	out := make([]byte, 0, len(text)+len(text)/16)
	name := ""
	for len(text) > 0 {
		quote := bytes.IndexByte(text, '"')
		if quote < 0 {
			return r.appendNumbers(out, text)
		}
		out = r.appendNumbers(out, text[:quote])
		if !bytes.ContainsRune(text[:quote], ':') {
			name = ""
		}
		end := stringEnd(text[quote:])
		raw := text[quote : quote+end]
		text = text[quote+end:]
		if len(raw) < 2 || raw[len(raw)-1] != '"' {
			raw = closed(raw)
		}
		s, ok := rawjson.AsString(raw)
		if !ok {
			s = string(raw)
		}
		if redacted := r.value(name, s, nested); ok && redacted == s {
			out = append(out, raw...)
		} else {
			out = rawjson.AppendString(out, redacted)
		}
		name = s
	}
	return out
}

// value redacts a string, and JSON in it.
func (r *Redactor) value(name, s string, nested int) string {
	if nested < mostNested && isNested(s) {
		s = string(r.json([]byte(s), nested+1))
		name = ""
	}
	return r.text(name, s)
}

// isNested reports whether a string is a JSON object, array or string.
func isNested(s string) bool {
	trimmed := bytes.TrimLeft([]byte(s[:min(len(s), 64)]), " \t\r\n")
	return len(trimmed) > 0 && bytes.IndexByte([]byte(`{["`), trimmed[0]) >= 0 &&
		rawjson.Validate([]byte(s), maxDepth) == nil
}

// stringEnd returns the length of the string that text begins with, including its quotes; the whole length if it has
// no end.
func stringEnd(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// mostEscape is the length of the longest escape: \u0041.
const mostEscape = 6

// closed returns a string that was cut off with its closing quote, without a part of an escape at its end.
func closed(raw []byte) []byte {
	for cut := 0; cut <= mostEscape && cut < len(raw); cut++ {
		whole := append(bytes.Clone(raw[:len(raw)-cut]), '"')
		if rawjson.Validate(whole, 1) == nil {
			return whole
		}
	}
	return append(bytes.Clone(raw), '"')
}

// appendNumbers appends JSON between strings, with marks in place of numbers that are card numbers.
func (r *Redactor) appendNumbers(out, text []byte) []byte {
	for i := 0; i < len(text); {
		if !isDigit(text[i]) {
			out = append(out, text[i])
			i++
			continue
		}
		from := i
		for i < len(text) && isDigit(text[i]) {
			i++
		}
		digits := string(text[from:i])
		part := from > 0 && bytes.IndexByte([]byte("-+.eE"), text[from-1]) >= 0 ||
			i < len(text) && bytes.IndexByte([]byte(".eE"), text[i]) >= 0
		if !part && len(digits) >= leastCard && cardEnd(digits, 0) == len(digits) {
			out = rawjson.AppendString(out, mark("card"))
			r.n++
			continue
		}
		out = append(out, digits...)
	}
	return out
}
