package redaction

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// leastCard and mostCard are the lengths of card numbers (ISO/IEC 7812), in digits.
	leastCard = 13
	mostCard  = 19
	// mostLocal and mostDomain bound the parts of an e-mail address, in bytes (RFC 5321, section 4.5.3.1).
	mostLocal  = 64 * utf8.UTFMax
	mostDomain = 255
)

// appendCards appends the places of card numbers: 13 to 19 digits that begin with 2 to 6, in groups with a space or a
// dash between them, and with a correct check digit.
func appendCards(found []span, s string) []span {
	for i := 0; i < len(s); {
		if !isDigit(s[i]) {
			i++
			continue
		}
		if to := cardEnd(s, i); to > 0 {
			found = append(found, span{i, to, "card"})
			i = to
			continue
		}
		for i < len(s) && isDigit(s[i]) { // a card begins with a group
			i++
		}
	}
	return found
}

// cardEnd returns the end of the longest card number that begins at a group of digits; 0 for none.
func cardEnd(s string, from int) (end int) {
	if s[from] < '2' || s[from] > '6' {
		return 0
	}
	var digits [mostCard]byte
	n := 0
	for i := from; i < len(s); i++ {
		switch {
		case isDigit(s[i]):
			if n == mostCard {
				return end
			}
			digits[n] = s[i] - '0'
			n++
			if last := i+1 == len(s) || !isDigit(s[i+1]); last && n >= leastCard && isLuhn(digits[:n]) {
				end = i + 1
			}
		case s[i] != ' ' && s[i] != '-' || i+1 == len(s) || !isDigit(s[i+1]):
			return end
		}
	}
	return end
}

// isLuhn reports whether the last digit is the check digit of the others (ISO/IEC 7812-1, annex B).
func isLuhn(digits []byte) bool {
	sum := 0
	for i, d := range digits {
		v := int(d)
		if (len(digits)-i)%2 == 0 {
			if v *= 2; v > 9 {
				v -= 9
			}
		}
		sum += v
	}
	return sum%10 == 0
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// appendEmails appends the places of e-mail addresses.
func appendEmails(found []span, s string) []span {
	done := 0
	for at := 0; ; at++ {
		next := strings.IndexByte(s[at:], '@')
		if next < 0 {
			return found
		}
		at += next
		from, to := localStart(s, max(done, at-mostLocal), at), domainEnd(s, at+1)
		if from < at && to > 0 {
			found = append(found, span{from, to, "email"})
			at, done = to-1, to
		}
	}
}

// localStart returns the start of the part of an address before the @, not before least.
func localStart(s string, least, at int) int {
	from := at
	for from > least {
		c, size := utf8.DecodeLastRuneInString(s[least:from])
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("!#$%&'*+/=?^_`{|}~.-", c) {
			break
		}
		from -= size
	}
	for from < at && (s[from] == '.' || s[from] == '\'') {
		from++
	}
	return from
}

// domainEnd returns the end of a domain with at least two labels; 0 if there is none.
func domainEnd(s string, from int) (end int) {
	labels, label := 0, 0
	for i, c := range s[from:min(len(s), from+mostDomain)] {
		switch {
		case unicode.IsLetter(c) || unicode.IsDigit(c):
			if label++; label == 1 {
				labels++
			}
			if labels >= 2 {
				end = from + i + utf8.RuneLen(c)
			}
		case c == '-' && label > 0:
		case c == '.' && label > 0:
			label = 0
		default:
			return end
		}
	}
	return end
}
