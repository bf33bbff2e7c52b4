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

// Form is how a vendor wants an id or a name to look. The zero Form takes none.
type Form struct {
	// Signs are the characters that it may have beside letters and digits of ASCII; AnySign for all characters.
	Signs string
	// NoDigitFirst is whether its first character is a letter or "_".
	NoDigitFirst bool
	Least, Most  int // characters
}

// AnySign stands for all characters.
const AnySign = "any"

// Holds reports whether a text looks so.
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

// hashed is how many letters and digits tell apart texts that were made to look alike: 65 bits of a hash, cut to 64.
const hashed = 11

// Make returns a text that looks so for one that does not: the same for the same text, and another for another. Where
// there is room, it begins as the text does.
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

// hash returns n letters and digits of a hash of a text; at most hashed of them differ.
func hash(s string, n int) string {
	sum := sha256.Sum256([]byte(s))
	digits := []byte(llm.Base62(binary.BigEndian.Uint64(sum[:]), n))
	slices.Reverse(digits) // as former versions have it in conversations
	return string(digits)
}

// String says how it looks.
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
