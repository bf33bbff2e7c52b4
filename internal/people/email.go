package people

import (
	"net/mail"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"weir/internal/llm"
)

// checkEmail is an e-mail address in its one form, lower case, or what is wrong
// with it.
func checkEmail(text string) (string, error) {
	email := normalEmail(text)
	a, err := mail.ParseAddress(email[:min(len(email), maxEmail+1)]) // its time is not linear in every Go
	if err != nil || a.Address != email || len(email) > maxEmail || strings.ContainsFunc(email, isUnseen) {
		return "", llm.Invalid("email", "This is not an e-mail address such as ada@example.com.")
	}
	if word := lookAlike(email); word != "" {
		return "", llm.Invalidf("email", "%q has letters of two alphabets that look alike. Type the address anew.", word)
	}
	return email, nil
}

// isUnseen reports whether a character cannot be seen, such as U+200B: an address with one looks like another.
func isUnseen(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }

// lookAlike is the first word of an address that has Latin letters and those of an alphabet with letters of the same look;
// empty for none. Words of one alphabet each are fine, as in a Russian name at a Latin domain.
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

// normalEmail is an address in lower case. A letter that would become one of
// ASCII stays: the Kelvin sign is no k, and whoever has it not the address with
// one.
func normalEmail(text string) string {
	return strings.Map(func(r rune) rune {
		if lower := unicode.ToLower(r); r < utf8.RuneSelf || lower >= utf8.RuneSelf {
			return lower
		}
		return r
	}, strings.TrimSpace(text))
}
