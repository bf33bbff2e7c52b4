// Package alike matches pieces of a stream that differ from the one before only in their text, without parsing them.
package alike

import (
	"bytes"
	"slices"

	"weir/internal/rawjson"
)

const (
	// maxValues bounds the values of a piece that may differ.
	maxValues = 3
	// maxShape bounds, in bytes, the size of a stored piece.
	maxShape = 4 << 10
	// maxTries bounds the shapes stored in a row without a match.
	maxTries = 8
)

// Shape holds a piece without its text and other values that differ from piece to piece. The zero Shape matches
// nothing.
type Shape struct {
	name  string // of the event
	data  []byte // the piece
	parts [maxValues + 1]span
	count int // of values; 0 for no shape
	text  int // the index of the text among the values
	tries int // shapes stored in a row without a match
}

type span struct{ start, end int }

// Forget clears the shape.
func (s *Shape) Forget() { s.count = 0 }

// Keep stores the shape of a piece, which is JSON. Its text, a string, and the other values, strings or numbers or
// nil, share memory with it. There is no shape if a string has escapes or a number a sign.
func (s *Shape) Keep(name, data, text []byte, others ...[]byte) {
	s.count = 0
	if s.tries++; s.tries > maxTries || len(data) > maxShape || len(others) >= maxValues {
		return
	}
	at, ok := within(data, text)
	if !ok || data[at.start-1] != '"' {
		return
	}
	values := append(make([]span, 0, maxValues), at)
	for _, v := range others {
		if v == nil {
			continue
		}
		other, ok := within(data, v)
		if !ok {
			return
		}
		values = append(values, other)
	}
	slices.SortFunc(values, func(a, b span) int { return a.start - b.start })
	from := 0
	for i, v := range values {
		s.parts[i] = span{from, v.start}
		from = v.end
	}
	s.parts[len(values)] = span{from, len(data)}
	s.name, s.data = string(name), append(s.data[:0], data...)
	s.count, s.text = len(values), slices.Index(values, at)
}

// within returns the range of a value in a piece: a string without its quotes, or a number.
func within(data, v []byte) (at span, ok bool) {
	start := cap(data) - cap(v)
	if len(v) == 0 || start <= 0 || start+len(v) >= len(data) || &data[start] != &v[0] {
		return at, false
	}
	if v[0] == '"' {
		at = span{start + 1, start + len(v) - 1}
		return at, rawjson.PlainString(data[at.start:]) == at.end-at.start
	}
	return span{start, start + len(v)}, digits(v) == len(v)
}

// Match reports whether a piece has the shape, and thus is JSON, and returns its text, which shares memory with it.
func (s *Shape) Match(name, data []byte) (text []byte, ok bool) {
	if s.count == 0 || string(name) != s.name {
		return nil, false
	}
	for i := range s.count {
		part := s.data[s.parts[i].start:s.parts[i].end]
		if !bytes.HasPrefix(data, part) {
			return nil, false
		}
		data = data[len(part):]
		n := 0
		if part[len(part)-1] == '"' {
			n = rawjson.PlainString(data)
		} else if n = digits(data); n == 0 || n > 1 && data[0] == '0' {
			return nil, false
		}
		if n < 0 {
			return nil, false
		}
		if i == s.text {
			text = data[:n]
		}
		data = data[n:]
	}
	last := s.parts[s.count]
	if !bytes.Equal(data, s.data[last.start:last.end]) {
		return nil, false
	}
	s.tries = 0
	return text, true
}

// digits counts the leading digits of a text.
func digits(b []byte) (n int) {
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}
