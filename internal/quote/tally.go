package quote

import (
	"time"

	"weir/internal/llm"
)

// MostText bounds the text of an answer, in bytes, that is stored for counting if the provider reports no usage.
const MostText = 64 << 10

// Tally holds the known properties of an answer so far.
type Tally struct {
	Choices    int64 // the requested number
	Status     int   // of HTTP
	Usage      llm.Usage
	Reported   bool               // the provider reported usage
	Partial    bool               // the reported usage is of an unfinished answer
	Finish     []llm.FinishReason // by choice; empty for an unfinished one
	Stopped    string             // as in llm.Choice, of the first choice
	Begun      bool               // some output was received
	Done       bool               // the end marker was received
	Length     int64              // bytes of text in total
	Text       int                // the bytes of text that may be stored, at most MostText
	FirstToken time.Duration      // from the opening of the attempt

	most     *llm.Usage // as in llm.Reply, or an earlier, larger report
	reported reported
	timed    bool   // as in llm.Reply
	id       string // the provider's id of its reply
	model    string // the provider's name of the model that answered
	tier     string
	charged  *llm.Money // the provider's reported charge
	early    bool       // charged is of an unfinished answer
	media    bool       // it has an image or a sound
	said     []said     // text by choice
	thought  []said     // thinking by choice, which is another class of usage
	kept     int        // bytes of text in said and thought
}

// Retold returns a tally of the same answer without any counted text.
func (t *Tally) Retold() Tally {
	return Tally{
		Choices: t.Choices, Status: t.Status, Usage: t.Usage, Reported: t.Reported, Done: true,
		Text: t.Text, most: t.most, reported: t.reported, timed: t.timed, id: t.id, model: t.model, tier: t.tier,
		charged: t.charged, early: t.early,
	}
}

// said is the text of one choice. Choices alternate in a stream, and their joined text would have other tokens.
type said struct {
	text   []byte // all choices share Tally.Text
	length int64
}

// Add adds one event.
func (t *Tally) Add(e *llm.Event) {
	if e.Tier != "" {
		t.tier = e.Tier
	}
	if e.Kind == llm.EventStart {
		t.id, t.model = e.ID, e.Model
	}
	before := t.Length
	t.Begun, t.media = t.Begun || e.Kind.IsPiece(), t.media || e.Media != nil
	switch e.Kind {
	case llm.EventReasoning:
		t.seeChoice(e.Choice)
		t.say(&t.thought, e.Choice, e.Text)
	case llm.EventText, llm.EventRefusal, llm.EventToolCall:
		t.seeChoice(e.Choice)
		t.say(&t.said, e.Choice, e.Text)
		t.say(&t.said, e.Choice, e.Tool.Name)
	case llm.EventFinish:
		t.seeChoice(e.Choice)
		if e.Choice < len(t.Finish) {
			t.Finish[e.Choice] = e.Finish
		}
		if e.Choice == 0 {
			t.Stopped = e.Text
		}
	case llm.EventCost:
		if e.Most != nil {
			t.reported.part(e.Most)
			t.most = t.reported.most(&t.Usage, t.most)
		}
	case llm.EventUsage:
		if e.Instead {
			t.reported = reported{}
		}
		t.reported.all(&e.Usage, e.Most)
		t.Usage, t.most, t.timed = e.Usage, t.reported.most(&e.Usage, e.Most), e.Timed
		t.Reported, t.Partial = true, e.Partial
	case llm.EventDone:
		t.Done = true
	}
	if e.Metered != nil && e.ProviderCost != nil {
		t.charged, t.early = e.ProviderCost, e.Partial
	}
	if t.Length > before {
		t.Partial, t.early = t.Reported, t.charged != nil // the reported values precede this text
	}
}

// maxChoices bounds the memory that a hostile provider can claim; no vendor sends more choices.
const maxChoices = 128

func (t *Tally) seeChoice(n int) {
	for n < maxChoices && len(t.Finish) <= n {
		t.Finish = append(t.Finish, "")
	}
}

func (t *Tally) say(to *[]said, choice int, text string) {
	if text == "" {
		return
	}
	choice = min(choice, maxChoices-1)
	for len(*to) <= choice {
		*to = append(*to, said{})
	}
	s, n := &(*to)[choice], max(0, min(min(t.Text, MostText)-t.kept, len(text)))
	s.text = append(s.text, text[:n]...)
	t.kept += n
	s.length += int64(len(text))
	t.Length += int64(len(text))
}

// Kept returns the number of stored bytes of text.
func (t *Tally) Kept() int { return t.kept }

// AddMeasured adds a whole answer whose text was not read.
func (t *Tally) AddMeasured(m *llm.Measured) {
	t.AddReply(&m.Reply)
	t.Begun, t.Length = true, int64(m.Text)
}

// Unread removes what AddMeasured has added and AddReply does not replace.
func (t *Tally) Unread() { t.Finish, t.Length = t.Finish[:0], 0 }

// AddReply adds a whole answer.
func (t *Tally) AddReply(r *llm.Reply) {
	t.Usage, t.most, t.timed, t.Reported, t.id, t.charged, t.Done = r.Usage, r.Most, r.Timed, r.Reported, r.ID,
		r.ProviderCost, true
	t.model = r.Model
	if r.Tier != "" { // otherwise it is the header's
		t.tier = r.Tier
	}
	if len(r.Choices) == 0 { // not a chat, so it cannot be incomplete
		t.Finish = append(t.Finish, llm.FinishStop)
	}
	if len(r.Choices) > 0 {
		t.Stopped = r.Choices[0].Stopped
	}
	for i := range r.Choices {
		if len(t.Finish) < maxChoices {
			t.Finish = append(t.Finish, r.Choices[i].Finish)
		}
		t.Begun = t.Begun || len(r.Choices[i].Message.Parts) > 0
		for j := range r.Choices[i].Message.Parts {
			t.addPart(i, &r.Choices[i].Message.Parts[j])
		}
	}
}

func (t *Tally) addPart(choice int, p *llm.Part) {
	t.media = t.media || p.Media != nil
	to := &t.said
	if p.Kind == llm.PartReasoning {
		to = &t.thought
	}
	t.say(to, choice, p.Text)
	if p.Call != nil {
		t.say(to, choice, p.Call.Name)
		t.say(to, choice, p.Call.Arguments)
	}
}

// Whole reports whether every choice has ended. A provider that sends fewer choices than requested must send the end
// marker.
func (t *Tally) Whole() bool {
	if !t.Done && int64(len(t.Finish)) < t.Choices {
		return false
	}
	for _, f := range t.Finish {
		if f == "" {
			return false
		}
	}
	return len(t.Finish) > 0
}

// reportedCost returns the provider's charge for the whole answer; nil if it reported none.
func (t *Tally) reportedCost() *llm.Money {
	if t.early {
		return nil
	}
	return t.charged
}

// finishReason returns the finish reason of the first choice.
func (t *Tally) finishReason() llm.FinishReason {
	if len(t.Finish) == 0 {
		return ""
	}
	return t.Finish[0]
}

// halfReported reports whether the provider counted only one side: no input, or no output although there is some. No
// counts at all are accepted.
func (t *Tally) halfReported() bool {
	in, out := t.Usage.InputTokens(), t.Usage.OutputTokens()
	return in == 0 && out > 0 || in > 0 && out == 0 && (t.Length > 0 || t.media)
}

// firstAlone reports whether the reported output covers only the first choice, as in whole answers of llama.cpp's
// server: it is less than the tokens of the first choice and half of the others'.
func (t *Tally) firstAlone() bool {
	if len(t.Finish) < 2 || t.Usage.OutputTokens() == 0 {
		return false
	}
	output, reasoning := t.countOutput()
	var first int64
	for _, by := range [][]said{t.said, t.thought} {
		first += countSaid(by[:min(1, len(by))])
	}
	all := output + reasoning
	return all > first && 2*t.Usage.OutputTokens() < first+all
}

// countOutput counts the tokens of text and thinking.
func (t *Tally) countOutput() (output, reasoning int64) {
	return countSaid(t.said), countSaid(t.thought)
}

func countSaid(by []said) (tokens int64) {
	for i := range by {
		s := &by[i]
		switch kept := int64(len(s.text)); kept {
		case s.length:
			tokens += CountTokens(string(s.text))
		case 0:
			tokens += s.length / bytesPerToken
		default:
			tokens += CountTokens(string(s.text)) * s.length / kept
		}
	}
	return tokens
}
