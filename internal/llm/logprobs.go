package llm

import "slices"

// MostLikely is the highest number of likely tokens that vendors tell at each place.
const MostLikely = 20

// Logprobs is the wish for the log probabilities of an answer's tokens.
type Logprobs struct {
	Top    int64    // how many likely tokens are told at each place, 0 to MostLikely
	Fields []string // the client's extra fields that the wish says in full
}

// ReadTop takes the number of likely tokens from an extra field of that name. A higher one than MostLikely is lowered
// to it.
func (l *Logprobs) ReadTop(name string, n int64) {
	if l.Top = min(max(n, 0), MostLikely); l.Top == n {
		l.Say(name)
	}
}

// Say notes an extra field that the wish says in full, once.
func (l *Logprobs) Say(name string) {
	if !slices.Contains(l.Fields, name) {
		l.Fields = append(l.Fields, name)
	}
}
