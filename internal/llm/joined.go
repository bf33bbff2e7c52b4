package llm

import "strings"

// Joined is a text that comes in pieces. To join them takes as long as they are; a text of
// one piece is that piece. Its zero value is empty.
type Joined struct {
	first string
	more  strings.Builder
}

// Add appends a piece.
func (j *Joined) Add(piece string) {
	switch {
	case piece == "":
	case j.first == "":
		j.first = piece
	default:
		if j.more.Len() == 0 {
			j.more.WriteString(j.first)
		}
		j.more.WriteString(piece)
	}
}

// String is the text so far.
func (j *Joined) String() string {
	if j.more.Len() == 0 {
		return j.first
	}
	return j.more.String()
}
