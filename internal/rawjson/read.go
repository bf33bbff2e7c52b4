package rawjson

import (
	"bytes"
	"iter"
	"unicode/utf16"
	"unicode/utf8"
)

// Kind is the type of a JSON value, determined by its first byte.
type Kind byte

// These are the kinds. Invalid is also the kind of an absent (nil) value.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// KindOf returns the kind of the value v, which may have leading white space.
func KindOf(v []byte) Kind {
	i := skipSpace(v, 0)
	if i == len(v) {
		return Invalid
	}
	switch c := v[i]; {
	case c == 'n':
		return Null
	case c == 't' || c == 'f':
		return Bool
	case c == '"':
		return String
	case c == '[':
		return Array
	case c == '{':
		return Object
	case c == '-' || isDigit(c):
		return Number
	}
	return Invalid
}

// Present reports whether v is a value other than null, because providers write null for absent values.
func Present(v []byte) bool {
	k := KindOf(v)
	return k != Invalid && k != Null
}

// Member is one member of an object.
type Member struct {
	name  []byte // unescaped, without the quotes
	Value []byte
	Start int // offset of Value in the object's text
}

// Name returns the member's name, unescaped.
func (m Member) Name() string { return string(m.Key()) }

// Key returns the member's name, unescaped. It shares memory with the object, so that "switch string(m.Key())" does not
// allocate.
func (m Member) Key() []byte {
	if bytes.IndexByte(m.name, '\\') < 0 {
		return m.name
	}
	return []byte(unescape(m.name))
}

// Is reports whether the member has that name.
func (m Member) Is(name string) bool { return string(m.Key()) == name }

// Members yields the members of the object obj in order; nothing for another kind of value.
func Members(obj []byte) iter.Seq[Member] {
	return func(yield func(Member) bool) {
		i := skipSpace(obj, 0)
		if i >= len(obj) || obj[i] != '{' {
			return
		}
		for i++; ; i++ {
			i = skipSpace(obj, i)
			if i >= len(obj) || obj[i] != '"' {
				return
			}
			end := skipString(obj, i)
			name := obj[i+1 : max(i+1, end-1)]
			i = skipSpace(obj, end)
			if i >= len(obj) || obj[i] != ':' {
				return
			}
			i = skipSpace(obj, i+1)
			end = skipValue(obj, i)
			if end == i || !yield(Member{name: name, Value: obj[i:end], Start: i}) {
				return
			}
			i = skipSpace(obj, end)
			if i >= len(obj) || obj[i] != ',' {
				return
			}
		}
	}
}

// PresentMembers yields the members of an object that are not null.
func PresentMembers(obj []byte) iter.Seq[Member] {
	return func(yield func(Member) bool) {
		for m := range Members(obj) {
			if Present(m.Value) && !yield(m) {
				return
			}
		}
	}
}

// Elements yields the elements of the array arr in order; nothing for another kind of value.
func Elements(arr []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		i := skipSpace(arr, 0)
		if i >= len(arr) || arr[i] != '[' {
			return
		}
		for n := 0; ; n++ {
			i = skipSpace(arr, i+1)
			end := skipValue(arr, i)
			if end == i || !yield(n, arr[i:end]) {
				return
			}
			i = skipSpace(arr, end)
			if i >= len(arr) || arr[i] != ',' {
				return
			}
		}
	}
}

// Len returns the number of elements of the array arr; 0 for another kind of value.
func Len(arr []byte) (n int) {
	for range Elements(arr) {
		n++
	}
	return n
}

// Scalars yields the strings, numbers and literals at any depth of a value, and its empty arrays and objects, each with
// the name of the closest enclosing member. It reads v once.
func Scalars(v []byte) iter.Seq[Member] {
	return func(yield func(Member) bool) {
		var m Member
		for i := skipSpace(v, 0); i < len(v); i = skipSpace(v, i) {
			end := i + 1
			switch c := v[i]; c {
			case ',', ':', ']', '}':
				i = end
				continue
			case '[', '{':
				if end = skipSpace(v, end); end == len(v) || v[end] != c+2 { // its closing bracket
					i++
					continue
				}
				end++
			case '"':
				end = skipString(v, i)
				if next := skipSpace(v, end); next < len(v) && v[next] == ':' {
					m.name, i = v[i+1:end-1], end
					continue
				}
			default:
				end = max(end, skipValue(v, i))
			}
			if m.Value = v[i:min(end, len(v))]; end > len(v) || !yield(m) {
				return
			}
			i = end
		}
	}
}

// HasElement reports whether v is an array with at least one element.
func HasElement(v []byte) bool {
	i := skipSpace(v, 0)
	if i >= len(v) || v[i] != '[' {
		return false
	}
	i = skipSpace(v, i+1)
	return i < len(v) && v[i] != ']'
}

// Get returns the value at the path of names through nested objects, or nil. If a name appears twice, the first one
// counts.
func Get(v []byte, names ...string) []byte {
	for _, name := range names {
		v = member(v, name)
		if v == nil {
			return nil
		}
	}
	return v
}

func member(obj []byte, name string) []byte {
	for m := range Members(obj) {
		if m.Is(name) {
			return m.Value
		}
	}
	return nil
}

// Text returns the string in v; "" if v is not a string.
func Text(v []byte) string {
	s, _ := AsString(v)
	return s
}

// AsString returns the string in v, and whether v is a string.
func AsString(v []byte) (string, bool) {
	raw, ok := inside(v)
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw), ok
	}
	return unescape(raw), ok
}

// inside returns the text between the quotation marks of a string.
func inside(v []byte) (raw []byte, ok bool) {
	i := skipSpace(v, 0)
	if i >= len(v) || v[i] != '"' {
		return nil, false
	}
	end := skipString(v, i)
	return v[i+1 : max(i+1, end-1)], true
}

// shortString is the length up to which a loop finds the end of a string faster than a call.
const shortString = 16

// skipString returns the offset after the string that begins at b[i].
func skipString(b []byte, i int) int {
	i++
	for near := min(i+shortString, len(b)); i < near; i++ {
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	for ; ; i++ {
		j := bytes.IndexByte(b[min(i, len(b)):], '"')
		if j < 0 {
			return len(b)
		}
		i += j
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}

// skipValue returns the offset after the value that begins at b[i], or i if there is none.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return len(b)
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ':', ' ', '\n', '\r', '\t', '"':
			return i
		}
		i++
	}
	return i
}

func skipNested(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return i
}

// unescape resolves the escapes in the text between a string's quotes. Half of a surrogate pair becomes U+FFFD, as in
// encoding/json.
func unescape(raw []byte) string {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			i++
			continue
		}
		n := escapeLen(raw[i:])
		if n == 0 {
			return string(append(out, raw[i:]...))
		}
		if n == 2 {
			out = append(out, plainEscape(raw[i+1]))
			i += n
			continue
		}
		r, _ := hex4(raw[i+2:])
		i += n
		if utf16.IsSurrogate(r) {
			low := rune(utf8.RuneError)
			if i+6 <= len(raw) && raw[i] == '\\' && raw[i+1] == 'u' {
				low, _ = hex4(raw[i+2:])
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				i += 6
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}

func plainEscape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}
