package h1

import "strings"

// IsToken reports whether s is valid as a method or the name of a header (RFC 9110, section 5.6.2).
func IsToken(s string) bool {
	for i := range len(s) {
		if !isToken(s[i]) {
			return false
		}
	}
	return s != ""
}

func isToken(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' ||
		strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// IsText reports whether s is valid as the value of a header, which may contain no control character except the tab.
func IsText(s string) bool {
	for i := range len(s) {
		if !isText(s[i]) {
			return false
		}
	}
	return true
}

func isText(c byte) bool { return c >= ' ' && c != 0x7f || c == '\t' }
