package rawjson

import (
	"bytes"
	"unicode/utf16"
)

// AsPiece is like AsString for a piece of a text. If the piece ends with the first half of a surrogate pair, the text
// excludes it, and half returns it, to be passed as before with the next piece.
func AsPiece(before string, v []byte) (text, half string, ok bool) {
	raw, ok := inside(v)
	if !ok {
		return "", before, false
	}
	if before == "" && bytes.IndexByte(raw, '\\') < 0 {
		return string(raw), "", true
	}
	raw = append([]byte(before), raw...)
	const length = len(`\ud83d`)
	if at := len(raw) - length; at >= 0 && isHigh(raw[at:]) && !isEscaped(raw[:at]) {
		raw, half = raw[:at], string(raw[at:])
	}
	return unescape(raw), half, true
}

// isHigh reports whether an escape is the first half of a surrogate pair.
func isHigh(escape []byte) bool {
	r, ok := hex4(escape[2:])
	return ok && escape[0] == '\\' && escape[1] == 'u' && utf16.IsSurrogate(r) && r < 0xdc00
}

// isEscaped reports whether a backslash after the text would be the second one of an escape.
func isEscaped(text []byte) (escaped bool) {
	for i := len(text) - 1; i >= 0 && text[i] == '\\'; i-- {
		escaped = !escaped
	}
	return escaped
}
