package llm

import (
	"strings"
	"unicode/utf8"
)

// IsText reports whether every database can store and search the string: UTF-8 without U+0000.
func IsText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// Alphanumerics are the digits of base 62: ASCII digits and letters.
const Alphanumerics = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Base62 returns the last n digits of a number in base 62.
func Base62(v uint64, n int) string {
	out := make([]byte, n)
	for i := range out {
		out[n-1-i] = Alphanumerics[v%uint64(len(Alphanumerics))]
		v /= uint64(len(Alphanumerics))
	}
	return string(out)
}
