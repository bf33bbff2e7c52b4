package ledger

import "time"

// Question asks a provider about an attempt whose end was not observed: it queries the final usage of the reply with
// that id.
type Question struct {
	ID       AttemptID
	Provider string
	ReplyID  string
}

// QuestionFor is the period after an attempt's opening in which its provider is queried.
const QuestionFor = 24 * time.Hour

// QuestionPauses returns the pauses before each query, the first one counted from the settlement. OpenRouter has the
// record about ten seconds after the end of the answer.
func QuestionPauses() []time.Duration {
	return []time.Duration{15 * time.Second, time.Minute, 10 * time.Minute}
}
