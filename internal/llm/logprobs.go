package llm

import "slices"

// MostLikely is how many likely tokens vendors tell at each place at most.
const MostLikely = 20

// Logprobs is the wish for the log probabilities of an answer's tokens.
type Logprobs struct {
	Top    int64    // how many likely tokens are told at each place, 0 to MostLikely
	Fields []string // the client's extra fields that say no more than the wish
}

// ReadTop reads an extra field that says how many likely tokens are told. More than MostLikely are lowered to it.
func (l *Logprobs) ReadTop(name string, n int64) {
	if l.Top = min(max(n, 0), MostLikely); l.Top == n {
		l.Say(name)
	}
}

// Say notes an extra field that says no more than the wish, once.
func (l *Logprobs) Say(name string) {
	if !slices.Contains(l.Fields, name) {
		l.Fields = append(l.Fields, name)
	}
}
