package quote

import (
	"time"

	"weir/internal/llm"
)

// MostText bounds the text of an answer, in bytes, that is kept for counting, should the
// provider's numbers never come.
const MostText = 64 << 10

// Tally is what is known of an answer so far.
type Tally struct {
	Choices    int64 // how many were asked for
	Status     int   // of HTTP
	Usage      llm.Usage
	Reported   bool               // the provider told it
	Partial    bool               // what it told is of an answer that went on, or has gone on since
	Finish     []llm.FinishReason // by choice; empty for one that goes on
	Stopped    string             // as llm.Choice has it, of the first choice
	Begun      bool               // some of the answer came
	Done       bool               // the end marker came
	Length     int64              // bytes of text in all
	Text       int                // how many of them may be kept, of MostText at most
	FirstToken time.Duration      // from the opening of the attempt

	most    *llm.Usage // as in llm.Reply, or what was told earlier, where that was more
	told    told
	timed   bool   // likewise
	id      string // the provider's, of its reply
	tier    string
	charged *llm.Money // what the provider says that it charges
	early   bool       // it said so of an answer that went on, or has gone on since
	media   bool       // there is an image or a sound in it
	said    []said     // by choice
	thought []said     // likewise, of what is another class of usage
	kept    int        // bytes of text in said and thought
}

// Retold is a tally of the same answer, of whose words nothing was counted yet.
func (t *Tally) Retold() Tally {
	return Tally{
		Choices: t.Choices, Status: t.Status, Usage: t.Usage, Reported: t.Reported, Done: true,
		Text: t.Text, most: t.most, told: t.told, timed: t.timed, id: t.id, tier: t.tier, charged: t.charged, early: t.early,
	}
}

// said is what one choice said. Choices take turns in a stream, and their
// words counted as one text would not be the tokens that they came in.
type said struct {
	text   []byte // as much as Tally.Text allows to all of them
	length int64
}

// Add takes note of one event.
func (t *Tally) Add(e *llm.Event) {
	if e.Tier != "" {
		t.tier = e.Tier
	}
	if e.Kind == llm.EventStart {
		t.id = e.ID
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
			t.told.part(e.Most)
			t.most = t.told.most(&t.Usage, t.most)
		}
	case llm.EventUsage:
		if e.Instead {
			t.told = told{}
		}
		t.told.all(&e.Usage, e.Most)
		t.Usage, t.most, t.timed, t.Reported, t.Partial = e.Usage, t.told.most(&e.Usage, e.Most), e.Timed, true, e.Partial
	case llm.EventDone:
		t.Done = true
	}
	if e.ProviderCost != nil {
		t.charged, t.early = e.ProviderCost, e.Partial
	}
	if t.Length > before {
		t.Partial, t.early = t.Reported, t.charged != nil // a count is of what came before it
	}
}

// maxChoices bounds what a hostile provider can make the tally grow to; no
// vendor gives more choices than this.
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

// Kept is how many bytes of text are kept.
func (t *Tally) Kept() int { return t.kept }

// AddReply takes note of a whole answer.
func (t *Tally) AddReply(r *llm.Reply) {
	t.Usage, t.most, t.timed, t.Reported, t.id, t.charged, t.Done = r.Usage, r.Most, r.Timed, r.Reported, r.ID,
		r.ProviderCost, true
	if r.Tier != "" { // else a header may have named one
		t.tier = r.Tier
	}
	if len(r.Choices) == 0 { // no chat, so there is nothing that could be cut short
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

// Whole says whether every choice has come to its end. A provider that gives
// fewer choices than were asked for has to say that it is done.
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

// toldCost is what the provider says that it charges for all of the answer; nil where it says nothing.
func (t *Tally) toldCost() *llm.Money {
	if t.early {
		return nil
	}
	return t.charged
}

// finishReason is that of the first choice.
func (t *Tally) finishReason() llm.FinishReason {
	if len(t.Finish) == 0 {
		return ""
	}
	return t.Finish[0]
}

// halfTold says whether only one side was counted: nothing went in, or nothing
// came out though something was said. Nothing at all is a provider's own word.
func (t *Tally) halfTold() bool {
	in, out := t.Usage.InputTokens(), t.Usage.OutputTokens()
	return in == 0 && out > 0 || in > 0 && out == 0 && (t.Length > 0 || t.media)
}

// firstAlone says whether the output that was told is that of the first choice alone, as in whole answers of llama.cpp's
// server: it is less than the first choice and half of the others have tokens.
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

// countOutput counts the tokens of what was said and thought.
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
