package llm

import "slices"

// MostLikely is the highest number of likely tokens that vendors report for each position.
const MostLikely = 20

// Logprobs is a request for the log probabilities of an answer's tokens.
type Logprobs struct {
	Top    int64    // the number of likely tokens at each position, 0 to MostLikely
	Fields []string // the client's extra fields that this value fully expresses
}

// ReadTop sets the number of likely tokens from an extra field of that name, limited to MostLikely.
func (l *Logprobs) ReadTop(name string, n int64) {
	if l.Top = min(max(n, 0), MostLikely); l.Top == n {
		l.Say(name)
	}
}

// Say records, once, an extra field that this value fully expresses.
func (l *Logprobs) Say(name string) {
	if !slices.Contains(l.Fields, name) {
		l.Fields = append(l.Fields, name)
	}
}
