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
	reported   bool
	tier       string
	status     int
	finish     []llm.FinishReason // by choice; empty for one that goes on
	done       bool               // the end marker came
	text       []byte             // what was said, up to tallyText
	length     int64              // bytes of it in all
	firstToken time.Duration
}

// add takes note of one event.
func (t *tally) add(e *llm.Event) {
	if e.Tier != "" {
		t.tier = e.Tier
	}
	switch e.Kind {
	case llm.EventText, llm.EventReasoning, llm.EventRefusal, llm.EventToolCall:
		t.seeChoice(e.Choice)
		t.say(e.Text)
		t.say(e.Tool.Name)
	case llm.EventFinish:
		t.seeChoice(e.Choice)
		if e.Choice < len(t.finish) {
			t.finish[e.Choice] = e.Finish
		}
	case llm.EventUsage:
		t.usage, t.reported = e.Usage, true
	case llm.EventDone:
		t.done = true
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

func (t *tally) say(text string) {
	t.length += int64(len(text))
	if room := tallyText - len(t.text); room > 0 {
		t.text = append(t.text, text[:min(room, len(text))]...)
	}
}

// addReply takes note of a whole answer.
func (t *tally) addReply(r *llm.Reply) {
	t.usage, t.reported, t.tier, t.done = r.Usage, r.Reported, r.Tier, true
	for i := range r.Choices {
		t.finish = append(t.finish, r.Choices[i].Finish)
		for j := range r.Choices[i].Message.Parts {
			p := &r.Choices[i].Message.Parts[j]
			t.say(p.Text)
			if p.Call != nil {
				t.say(p.Call.Name)
				t.say(p.Call.Arguments)
			}
		}
	}
}

// whole says whether every choice has come to its end.
func (t *tally) whole() bool {
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

// countOutput counts the tokens of what was said.
func (t *tally) countOutput() int64 {
	tokens := CountTokens(string(t.text))
	if kept := int64(len(t.text)); kept > 0 && t.length > kept {
		tokens = tokens * t.length / kept
	}
	return tokens
}
