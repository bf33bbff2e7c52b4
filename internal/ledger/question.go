package ledger

import "time"

// Question is what a provider is asked about an attempt whose end nobody saw: what the reply
// of that id used in the end.
type Question struct {
	ID       AttemptID
	Provider string
	ReplyID  string
}

// QuestionFor is how long after an attempt was opened its provider is asked about it.
const QuestionFor = 24 * time.Hour

// QuestionPauses are how long after the attempt was settled its provider is asked, and
// after each time again. OpenRouter has the record about ten seconds after the answer's end.
func QuestionPauses() []time.Duration {
	return []time.Duration{15 * time.Second, time.Minute, 10 * time.Minute}
}
