package gateway

import (
	"time"

	"weir/internal/llm"
)

// tallyText bounds the text of an answer that is kept for counting, should the
// provider's numbers never come.
const tallyText = 64 << 10

// tally is what is known of an answer so far.
type tally struct {
	usage      llm.Usage
	most       *llm.Usage // as in llm.Reply
	reported   bool
	partial    bool   // what was reported is of an answer that went on, or has gone on since
	id         string // the provider's, of its reply
	tier       string
	bill       *llm.Money // what the provider says that it charges
	status     int
	choices    int64              // how many were asked for
	finish     []llm.FinishReason // by choice; empty for one that goes on
	begun      bool               // some of the answer came
	media      bool               // there is an image or a sound in it
	done       bool               // the end marker came
	said       []said             // by choice
	thought    []said             // likewise, of what is another class of usage
	kept       int                // bytes of text in said and thought
	length     int64              // bytes of text in all
	firstToken time.Duration
}

// said is what one choice said. Choices take turns in a stream, and their
// words counted as one text would not be the tokens that they came in.
type said struct {
	text   []byte // as much as tallyText allows to all of them
	length int64
}

// add takes note of one event.
func (t *tally) add(e *llm.Event) {
	if e.Tier != "" {
		t.tier = e.Tier
	}
	if e.Kind == llm.EventStart {
		t.id = e.ID
	}
	before := t.length
	t.begun, t.media = t.begun || isPiece(e.Kind), t.media || e.Media != nil
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
		if e.Choice < len(t.finish) {
			t.finish[e.Choice] = e.Finish
		}
	case llm.EventUsage:
		if e.ProviderCost != nil {
			t.bill = e.ProviderCost
		}
		t.usage, t.most, t.reported, t.partial = e.Usage, e.Most, true, e.Partial
	case llm.EventDone:
		t.done = true
	}
	if t.length > before {
		t.partial = t.reported // a count is of what came before it
	}
}

// maxChoices bounds what a hostile provider can make the tally grow to; no
// vendor gives more choices than this.
const maxChoices = 128

func (t *tally) seeChoice(n int) {
	for n < maxChoices && len(t.finish) <= n {
		t.finish = append(t.finish, "")
	}
}

func (t *tally) say(to *[]said, choice int, text string) {
	if text == "" {
		return
	}
	choice = min(choice, maxChoices-1)
	for len(*to) <= choice {
		*to = append(*to, said{})
	}
	s, n := &(*to)[choice], min(tallyText-t.kept, len(text))
	s.text = append(s.text, text[:n]...)
	t.kept += n
	s.length += int64(len(text))
	t.length += int64(len(text))
}

// addReply takes note of a whole answer.
func (t *tally) addReply(r *llm.Reply) {
	t.usage, t.most, t.reported, t.id, t.tier, t.bill, t.done = r.Usage, r.Most, r.Reported, r.ID, r.Tier,
		r.ProviderCost, true
	if len(r.Choices) == 0 { // no chat, so there is nothing that could be cut short
		t.finish = append(t.finish, llm.FinishStop)
	}
	for i := range r.Choices {
		if len(t.finish) < maxChoices {
			t.finish = append(t.finish, r.Choices[i].Finish)
		}
		t.begun = t.begun || len(r.Choices[i].Message.Parts) > 0
		for j := range r.Choices[i].Message.Parts {
			t.addPart(i, &r.Choices[i].Message.Parts[j])
		}
	}
}

func (t *tally) addPart(choice int, p *llm.Part) {
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

// whole says whether every choice has come to its end. A provider that gives
// fewer choices than were asked for has to say that it is done.
func (t *tally) whole() bool {
	if !t.done && int64(len(t.finish)) < t.choices {
		return false
	}
	for _, f := range t.finish {
		if f == "" {
			return false
		}
	}
	return len(t.finish) > 0
}

// finishReason is that of the first choice.
func (t *tally) finishReason() llm.FinishReason {
	if len(t.finish) == 0 {
		return ""
	}
	return t.finish[0]
}

// halfTold says whether only one side was counted: nothing went in, or nothing
// came out though something was said. Nothing at all is a provider's own word.
func (t *tally) halfTold() bool {
	in, out := t.usage.InputTokens(), t.usage.OutputTokens()
	return in == 0 && out > 0 || in > 0 && out == 0 && (t.length > 0 || t.media)
}

// countOutput counts the tokens of what was said and thought.
func (t *tally) countOutput() (output, reasoning int64) {
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
