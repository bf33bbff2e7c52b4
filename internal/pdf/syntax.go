package pdf

import (
	"bytes"
	"encoding/hex"
	"unicode/utf8"
)

// mostReferences is the maximum number of references in a list that is read.
const mostReferences = 100_000

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

// isRegular reports whether a byte continues a name or a number.
func isRegular(c byte) bool { return !isSpace(c) && !bytes.ContainsRune([]byte("()<>[]{}/%"), rune(c)) }

// trim removes leading white space.
func trim(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	return b
}

// each calls fn with the text after each occurrence of a name, until fn returns false.
func each(text []byte, name string, fn func(value []byte) bool) bool {
	for {
		i := bytes.Index(text, []byte(name))
		if i < 0 {
			return true
		}
		text = text[i+len(name):]
		if len(text) > 0 && isRegular(text[0]) {
			continue // a longer name
		}
		if !fn(trim(text)) {
			return false
		}
	}
}

// count returns the number of occurrences of a name.
func count(text []byte, name string) (n int64) {
	each(text, name, func([]byte) bool { n++; return true })
	return n
}

// number reads a number; false if there is none.
func number(b []byte) (n int64, rest []byte, ok bool) {
	for len(b) > 0 && b[0] >= '0' && b[0] <= '9' && n < 1<<40 {
		n, b, ok = 10*n+int64(b[0]-'0'), b[1:], true
	}
	return n, b, ok
}

// reference reads a reference to an object, such as "5 0 R".
func reference(b []byte) (n int64, rest []byte, ok bool) {
	n, b, ok = number(b)
	if !ok || len(b) == 0 || !isSpace(b[0]) {
		return 0, nil, false
	}
	_, b, ok = number(trim(b))
	b = trim(b)
	if !ok || len(b) == 0 || b[0] != 'R' || len(b) > 1 && isRegular(b[1]) {
		return 0, nil, false
	}
	return n, b[1:], true
}

// references reads a reference, or a list of only references.
func references(b []byte) (all []int64, ok bool) {
	if len(b) == 0 || b[0] != '[' {
		n, _, ok := reference(b)
		return []int64{n}, ok
	}
	for b = trim(b[1:]); len(all) < mostReferences && len(b) > 0; {
		if b[0] == ']' {
			return all, true
		}
		n, rest, ok := reference(b)
		if !ok {
			return nil, false
		}
		all, b = append(all, n), trim(rest)
	}
	return nil, false
}

// unescaped returns a text with unescaped names: each "#41" becomes A.
func unescaped(b []byte) []byte {
	if bytes.IndexByte(b, '#') < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		var c [1]byte
		if b[i] == '#' && i+2 < len(b) {
			if _, err := hex.Decode(c[:], b[i+1:i+3]); err == nil {
				out = append(out, c[0])
				i += 2
				continue
			}
		}
		out = append(out, b[i])
	}
	return out
}

// shown calls fn with each string of content, unescaped and with its nested parentheses, and with the text before it.
func shown(content []byte, fn func(before, s []byte)) {
	for len(content) > 0 {
		i := bytes.IndexAny(content, "(<")
		if i < 0 {
			return
		}
		open, before := content[i], content[:i]
		content = content[i+1:]
		switch {
		case open == '(':
			var s []byte
			s, content = literal(content)
			fn(before, s)
		case len(content) > 0 && content[0] == '<': // a dictionary
			content = content[1:]
		default:
			end := bytes.IndexByte(content, '>')
			if end < 0 {
				end = len(content)
			}
			fn(before, unhexed(content[:end]))
			content = content[min(len(content), end+1):]
		}
	}
}

// isOneLine reports whether the text between two strings keeps the second one on the same line: it has only numbers,
// and operators that show a string or move sideways.
func isOneLine(between []byte) bool {
	last := ""
	isBetween := func(r rune) bool { return r == '[' || r == ']' || r < utf8.RuneSelf && isSpace(byte(r)) }
	for word := range bytes.FieldsFuncSeq(between, isBetween) {
		operator := string(word)
		isNumber := len(bytes.Trim(word, "0123456789.-")) == 0
		if !isNumber && operator != "Tj" && operator != "TJ" && (operator != "Td" || last != "0") {
			return false
		}
		last = operator
	}
	return true
}

// literal reads a string in parentheses. An escape becomes the byte after its backslash, and an octal escape its value.
func literal(b []byte) (s, rest []byte) {
	depth := 1
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch {
		case c == '\\' && i+1 < len(b):
			value, digits := 0, 0
			for digits < 3 && i+1 < len(b) && b[i+1] >= '0' && b[i+1] <= '7' {
				value, digits, i = 8*value+int(b[i+1]-'0'), digits+1, i+1
			}
			if digits == 0 {
				i++
				value = int(b[i])
			}
			s = append(s, byte(value))
			continue
		case c == '(':
			depth++
		case c == ')':
			depth--
		}
		if depth == 0 {
			return s, b[i+1:]
		}
		s = append(s, c)
	}
	return s, nil
}

// unhexed reads a string of hexadecimal digits; the last digit may be missing.
func unhexed(b []byte) []byte {
	digits := make([]byte, 0, len(b)+1)
	for _, c := range b {
		if c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' {
			digits = append(digits, c)
		}
	}
	if len(digits)%2 == 1 {
		digits = append(digits, '0')
	}
	s := make([]byte, len(digits)/2)
	_, _ = hex.Decode(s, digits) // never fails for digits
	return s
}
