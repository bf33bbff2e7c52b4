package llm

import "strings"

// Joined joins a text from pieces in linear time. A text of one piece is not copied. Its zero value is empty.
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

// String returns the text so far.
func (j *Joined) String() string {
	if j.more.Len() == 0 {
		return j.first
	}
	return j.more.String()
}
