package people

import (
	"net/mail"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"weir/internal/llm"
)

// CheckEmail returns the canonical, lower-case form of an e-mail address, or an error.
func CheckEmail(text string) (string, error) {
	email := NormalEmail(text)
	// ParseAddress does not run in linear time in every version of Go
	a, err := mail.ParseAddress(email[:min(len(email), maxEmail+1)])
	if err != nil || a.Address != email || len(email) > maxEmail || strings.ContainsFunc(email, isInvisible) {
		return "", llm.Invalid("email", "The e-mail address is invalid. Write it like ada@example.com.")
	}
	if word := lookAlike(email); word != "" {
		return "", llm.Invalidf("email", "%q mixes letters of two alphabets that look alike. "+
			"Type the address again in one alphabet.", word)
	}
	return email, nil
}

// isInvisible reports whether a character is invisible, such as U+200B. An address with one looks like another address.
func isInvisible(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }

// lookAlike returns the first word of an address that mixes Latin letters with an alphabet of similar letters; empty if
// there is none. Words in one alphabet each are allowed, such as a Russian name at a Latin domain.
func lookAlike(email string) string {
	alike := []*unicode.RangeTable{unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic}
	words := strings.FieldsFunc(email, func(r rune) bool { return r < utf8.RuneSelf && !unicode.IsLetter(r) })
	i := slices.IndexFunc(words, func(word string) bool {
		return strings.ContainsFunc(word, func(r rune) bool { return unicode.Is(unicode.Latin, r) }) &&
			strings.ContainsFunc(word, func(r rune) bool { return unicode.IsOneOf(alike, r) })
	})
	if i < 0 {
		return ""
	}
	return words[i]
}

// NormalEmail returns an address in lower case. A letter that would become an ASCII letter is unchanged: the Kelvin
// sign is not a k, and an address with it is a different address.
func NormalEmail(text string) string {
	return strings.Map(func(r rune) rune {
		if lower := unicode.ToLower(r); r < utf8.RuneSelf || lower >= utf8.RuneSelf {
			return lower
		}
		return r
	}, strings.TrimSpace(text))
}
