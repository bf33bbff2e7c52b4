package rawjson

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD. It escapes only the characters that JSON
// requires, and U+2028 and U+2029, which some line readers treat as line ends.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; ; {
		if i = plainEnd(s, i); i == len(s) {
			break
		}
		c := s[i]
		if c < utf8.RuneSelf {
			dst = appendEscape(append(dst, s[from:i]...), c)
			i++
			from = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			dst = append(append(dst, s[from:i]...), "\ufffd"...)
			from = i + n
		case r == '\u2028' || r == '\u2029':
			dst = append(append(dst, s[from:i]...), `\u202`...)
			dst = append(dst, hexDigits[r&0xf])
			from = i + n
		}
		i += n
	}
	return append(append(dst, s[from:]...), '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}

// Edit is a change to a text: Text replaces the bytes [Start, End). If Start equals End, it is inserted.
type Edit struct {
	Start, End int
	Text       []byte
}

// Splice appends src to dst with the edits applied. The edits must be in order and not overlap.
func Splice(dst, src []byte, edits ...Edit) []byte {
	size := len(src)
	for _, e := range edits {
		size += len(e.Text)
	}
	dst = slices.Grow(dst, size)
	at := 0
	for _, e := range edits {
		dst = append(appendBlocks(dst, src[at:e.Start]), e.Text...)
		at = e.End
	}
	return appendBlocks(dst, src[at:])
}

// block is the number of bytes that are copied at once. A copy cannot be interrupted, so a long one delays the start of
// a garbage collection and with it all goroutines.
const block = 256 << 10

func appendBlocks(dst, src []byte) []byte {
	for len(src) > block {
		dst, src = append(dst, src[:block]...), src[block:]
	}
	return append(dst, src...)
}

// Set returns the edit that sets a member of the object obj: it replaces an existing one, else inserts it first.
func Set(obj []byte, name string, value []byte) Edit {
	empty := true
	for m := range Members(obj) {
		if m.Is(name) {
			return Edit{Start: m.Start, End: m.Start + len(m.Value), Text: value}
		}
		empty = false
	}
	at := bytes.IndexByte(obj, '{') + 1
	text := make([]byte, 0, len(name)+len(value)+len(`"":,`))
	text = append(append(AppendString(text, name), ':'), value...)
	if !empty {
		text = append(text, ',')
	}
	return Edit{Start: at, End: at, Text: text}
}

// Rewrite returns the object obj with renamed members. If rename returns an empty name, the member is omitted.
func Rewrite(obj []byte, rename func(name string) string) []byte {
	out := append(make([]byte, 0, len(obj)+64), '{')
	for m := range Members(obj) {
		name := rename(m.Name())
		if name == "" {
			continue
		}
		out = AppendMember(out, name, m.Value)
	}
	return append(out, '}')
}

// AppendComma appends the comma before an element of an open array or before a member of an open object. It appends
// nothing if the element is the first or dst already ends with a comma.
func AppendComma(dst []byte) []byte {
	if n := len(dst); n == 0 || dst[n-1] == '[' || dst[n-1] == '{' || dst[n-1] == ',' {
		return dst
	}
	return append(dst, ',')
}

// AppendName begins a member of an open object, with a comma if needed. An empty dst begins the object, too.
func AppendName(dst []byte, name string) []byte {
	if len(dst) == 0 {
		dst = append(dst, '{')
	}
	return append(AppendString(AppendComma(dst), name), ':')
}

// AppendMember appends a member to an open object, as AppendName does.
func AppendMember(dst []byte, name string, value []byte) []byte {
	return append(AppendName(dst, name), value...)
}

// AppendStrings appends list as an array of JSON strings; nil as an empty one.
func AppendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for _, s := range list {
		dst = AppendString(AppendComma(dst), s)
	}
	return append(dst, ']')
}

// AppendCount appends the text before unchanged, such as `,"total":`, and then n.
func AppendCount(dst []byte, before string, n int64) []byte {
	return strconv.AppendInt(append(dst, before...), n, 10)
}
