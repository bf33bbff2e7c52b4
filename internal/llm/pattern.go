package llm

import "strings"

// Matches reports whether the whole of name fits the pattern, in which each star stands for any characters. Each piece
// between stars is taken at its first place, which is enough: a later place
// leaves less for the pieces that follow.
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
