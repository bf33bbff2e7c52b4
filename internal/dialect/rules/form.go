package rules

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"weir/internal/llm"
)

// Form describes the valid form of an id or a name. The zero Form accepts nothing.
type Form struct {
	// Signs are the allowed characters in addition to ASCII letters and digits; AnySign allows all.
	Signs string
	// NoDigitFirst requires a letter or "_" as the first character.
	NoDigitFirst bool
	Least, Most  int // characters
}

// AnySign allows all characters.
const AnySign = "any"

// Holds reports whether a text has the form.
func (f *Form) Holds(s string) bool {
	n := utf8.RuneCountInString(s)
	if n < f.Least || n > f.Most || f.NoDigitFirst && !f.begins(s) {
		return false
	}
	return f.Signs == AnySign || !strings.ContainsFunc(s, func(r rune) bool { return !f.takes(r) })
}

func (f *Form) takes(r rune) bool {
	return r < utf8.RuneSelf && isAlphanumeric(byte(r)) || strings.ContainsRune(f.Signs, r)
}

func (f *Form) begins(s string) bool {
	return s != "" && (s[0] == '_' || isAlphanumeric(s[0]) && (s[0] < '0' || s[0] > '9'))
}

// hashed is the number of letters and digits in a hash that distinguishes generated texts: 65 bits, cut to 64.
const hashed = 11

// Make derives a text of the form from one that does not have it: equal texts give equal results, different texts
// different ones. If the form allows enough characters, the result begins like the text.
func (f *Form) Make(s string) string {
	if f.Most <= 2*hashed || f.Signs == "" {
		return hash(s, min(f.Most, hashed))
	}
	clean := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && f.Signs == AnySign || f.takes(r) {
			return r
		}
		return '_'
	}, s)
	if f.NoDigitFirst && !f.begins(clean) {
		clean = "_" + clean
	}
	return clean[:min(len(clean), f.Most-hashed-1)] + "_" + hash(s, hashed)
}

// hash returns n letters and digits of a text's hash; at most hashed of them vary.
func hash(s string, n int) string {
	sum := sha256.Sum256([]byte(s))
	digits := []byte(llm.Base62(binary.BigEndian.Uint64(sum[:]), n))
	slices.Reverse(digits) // the order of former versions, whose ids are in conversations
	return string(digits)
}

// String describes the form in words.
func (f *Form) String() string {
	length := fmt.Sprintf("%d to %d characters", f.Least, f.Most)
	if f.Least == f.Most {
		length = fmt.Sprintf("%d characters", f.Most)
	}
	signs := "letters and digits"
	switch {
	case f.Signs == AnySign:
		signs = "of any kind"
	case f.Signs != "":
		signs += ", `" + strings.Join(strings.Split(f.Signs, ""), "` `") + "`"
	}
	if f.NoDigitFirst {
		return length + ", " + signs + ", the first a letter or _"
	}
	return length + ", " + signs
}
