package llm

import (
	"strings"
	"unicode/utf8"
)

// IsText reports whether a string from outside is text that every database can
// keep and look for: UTF-8, without U+0000.
func IsText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
