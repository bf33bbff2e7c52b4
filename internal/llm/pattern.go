package llm

import "strings"

// Matches reports whether the pattern matches the whole name; a star matches any characters. Matching each piece
// between stars at its first occurrence suffices, because a later one leaves less for the pieces that follow.
func Matches(pattern, name string) bool {
	head, rest, starred := strings.Cut(pattern, "*")
	if !starred {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, head)
	for ok {
		piece, more, starred := strings.Cut(rest, "*")
		if !starred {
			return strings.HasSuffix(name, piece)
		}
		_, name, ok = strings.Cut(name, piece)
		rest = more
	}
	return false
}
