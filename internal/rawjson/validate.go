// Package rawjson reads and edits JSON text without building a tree, so that irrelevant bytes pass through unchanged.
// Validate must be called first; all other functions expect text that passed it, but never panic on other text.
//
// JSON is that of RFC 8259, but stricter where parsers differ: only UTF-8, a bounded depth, and no data after the
// value.
package rawjson

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// SyntaxError reports the place of a syntax error and its reason.
type SyntaxError struct {
	Offset int // bytes before the error
	Reason string
}

// Error returns the reason and the place.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s at byte %d", e.Reason, e.Offset)
}

// MaxMembers is the maximum number of members of an object.
const MaxMembers = 1 << 16

// Validate returns an error unless b is exactly one JSON value in UTF-8 with arrays and objects nested at most maxDepth
// deep and at most MaxMembers members per object. The error is a *SyntaxError.
func Validate(b []byte, maxDepth int) error {
	v := validator{b: b, maxDepth: maxDepth}
	return v.whole()
}

// ValidateNames is Validate, and reports whether isUsual accepts the names of all members, at any depth and as written.
func ValidateNames(b []byte, maxDepth int, isUsual func(name []byte) bool) (usual bool, err error) {
	v := validator{b: b, maxDepth: maxDepth, isUsual: isUsual}
	err = v.whole()
	return v.isUsual != nil, err
}

// whole checks that the text is one value.
func (v *validator) whole() error {
	v.space()
	if !v.value(0) {
		return v.failure()
	}
	v.space()
	if v.i < len(v.b) {
		v.fail("data behind the end of the JSON value")
		return v.failure()
	}
	return nil
}

type validator struct {
	b        []byte
	i        int
	maxDepth int
	isUsual  func(name []byte) bool // nil if no name is to be checked any more
	reason   string
}

func (v *validator) fail(reason string) bool {
	if v.reason == "" {
		v.reason = reason
	}
	return false
}

func (v *validator) failure() error {
	if v.i >= len(v.b) && v.reason == "" {
		v.reason = "the JSON text ends too early"
	}
	if v.reason == "" {
		v.reason = fmt.Sprintf("unexpected character %q", rune(v.b[v.i]))
	}
	return &SyntaxError{Offset: v.i, Reason: v.reason}
}

func (v *validator) space() { v.i = skipSpace(v.b, v.i) }

func (v *validator) peek() byte {
	if v.i < len(v.b) {
		return v.b[v.i]
	}
	return 0
}

func (v *validator) value(depth int) bool {
	switch c := v.peek(); c {
	case '"':
		return v.str()
	case '{', '[':
		if depth >= v.maxDepth {
			return v.fail(fmt.Sprintf("nested deeper than %d levels", v.maxDepth))
		}
		if c == '{' {
			return v.object(depth + 1)
		}
		return v.array(depth + 1)
	case 't':
		return v.literal("true")
	case 'f':
		return v.literal("false")
	case 'n':
		return v.literal("null")
	default:
		return v.number()
	}
}

func (v *validator) object(depth int) bool {
	v.i++
	v.space()
	if v.peek() == '}' {
		v.i++
		return true
	}
	for n := 0; ; n++ {
		if n == MaxMembers {
			return v.fail(fmt.Sprintf("an object with more than %d members", MaxMembers))
		}
		from := v.i + 1
		if v.peek() != '"' || !v.str() {
			return false
		}
		if v.isUsual != nil && !v.isUsual(v.b[from:v.i-1]) {
			v.isUsual = nil
		}
		v.space()
		if v.peek() != ':' {
			return false
		}
		v.i++
		v.space()
		if !v.value(depth) {
			return false
		}
		v.space()
		switch v.peek() {
		case ',':
			v.i++
			v.space()
		case '}':
			v.i++
			return true
		default:
			return false
		}
	}
}

func (v *validator) array(depth int) bool {
	v.i++
	v.space()
	if v.peek() == ']' {
		v.i++
		return true
	}
	for {
		if !v.value(depth) {
			return false
		}
		v.space()
		switch v.peek() {
		case ',':
			v.i++
			v.space()
		case ']':
			v.i++
			return true
		default:
			return false
		}
	}
}

func (v *validator) literal(word string) bool {
	if !bytes.HasPrefix(v.b[v.i:], []byte(word)) {
		return false
	}
	v.i += len(word)
	return true
}

func (v *validator) number() bool {
	if v.peek() == '-' {
		v.i++
	}
	if v.peek() == '0' {
		v.i++
	} else if !v.digits() {
		return false
	}
	if v.peek() == '.' {
		v.i++
		if !v.digits() {
			return false
		}
	}
	if c := v.peek(); c == 'e' || c == 'E' {
		v.i++
		if c := v.peek(); c == '+' || c == '-' {
			v.i++
		}
		return v.digits()
	}
	return true
}

func (v *validator) digits() bool {
	from := v.i
	for v.i < len(v.b) && isDigit(v.b[v.i]) {
		v.i++
	}
	return v.i > from
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// plainEnd returns the offset of the first byte of s, from i on, that needs attention inside a string: a control
// character, a quote, a backslash or a byte beyond ASCII. It checks eight bytes at once.
func plainEnd[T string | []byte](s T, i int) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(s); i += 8 {
		x := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		quote, slash := x^(ones*'"'), x^(ones*'\\')
		// The high bit of a byte marks it as special; a borrow affects only bytes after a special one.
		if ((x-ones*' ')&^x|x|(quote-ones)&^quote|(slash-ones)&^slash)&high != 0 {
			break
		}
	}
	for i < len(s) && plain[s[i]] {
		i++
	}
	return i
}

// plain marks the ASCII bytes that represent themselves inside a string.
var plain = func() (t [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

func (v *validator) str() bool {
	b, i := v.b, v.i+1
	for {
		if i = plainEnd(b, i); i == len(b) {
			break
		}
		c := b[i]
		switch {
		case c == '"':
			v.i = i + 1
			return true
		case c == '\\':
			n := escapeLen(b[i:])
			if n == 0 {
				v.i = i
				return v.fail("bad escape in a string")
			}
			i += n
		case c < ' ':
			v.i = i
			return v.fail("control character in a string")
		default:
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n == 1 {
				v.i = i
				return v.fail("not UTF-8")
			}
			i += n
		}
	}
	v.i = i
	return false
}

// escapeLen returns the length of the escape sequence at the start of b; 0 if there is none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(b[2:]); ok {
			return 6
		}
	}
	return 0
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case isDigit(c):
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// PlainString returns the number of bytes of b before the quote that ends a string; -1 if they contain an escape or
// invalid UTF-8, or if there is no quote.
func PlainString(b []byte) int {
	for i := 0; ; {
		if i = plainEnd(b, i); i == len(b) {
			return -1
		}
		if b[i] == '"' {
			return i
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 || n == 1 && b[i] < utf8.RuneSelf {
			return -1
		}
		i += n
	}
}
