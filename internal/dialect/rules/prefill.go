package rules

import (
	"strings"
	"unicode"

	"weir/internal/llm"
)

// NoPrefill asks that the user has the last word: the model does not go on with what the assistant said.
type NoPrefill struct{}

// Broken is the role of who else has it.
func (NoPrefill) Broken(r *llm.Request, _ []byte) string {
	if i, _ := begun(r); i >= 0 {
		return string(llm.RoleAssistant)
	}
	return ""
}

// Fit refuses: the answer would be another one.
func (NoPrefill) Fit(*Fitting) error {
	return llm.Invalid("messages",
		"This model does not go on with what the assistant said. End the messages with one of the user's.")
}

// Example begins the answer.
func (NoPrefill) Example() *llm.Request { return LastPrefix{}.Example() }

func (NoPrefill) String() string { return "The user, or a tool, has the last word" }

// NoSpaceAtEnd asks that the last words of the conversation, where they are the assistant's, have no white space at their
// end.
type NoSpaceAtEnd struct{}

// Broken is the role of such words that have.
func (NoSpaceAtEnd) Broken(r *llm.Request, _ []byte) string {
	i, j := begun(r)
	if i < 0 {
		return ""
	}
	p := &r.Messages[i].Parts[j]
	if !isWords(p) || len(trimmed(p.Text)) == len(p.Text) {
		return ""
	}
	return string(llm.RoleAssistant)
}

func trimmed(text string) string { return strings.TrimRightFunc(text, unicode.IsSpace) }

// Fit takes it off.
func (NoSpaceAtEnd) Fit(f *Fitting) error {
	i, j := begun(f.Request)
	p := f.part(i, j)
	p.Text = trimmed(p.Text)
	return nil
}

// Example begins the answer.
func (NoSpaceAtEnd) Example() *llm.Request {
	r := LastPrefix{}.Example()
	r.Messages[1].Parts[0].Text += " "
	return r
}

func (NoSpaceAtEnd) String() string {
	return "An answer that is begun has no white space at its end"
}

// begun returns the message and the part with which the assistant has begun an answer, or made a call; -1 where the user or
// a tool has the last word.
func begun(r *llm.Request) (message, part int) {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		m := &r.Messages[i]
		last := len(m.Parts) - 1
		for last >= 0 && isSilent(&m.Parts[last]) {
			last--
		}
		switch {
		case last < 0, m.Role == llm.RoleSystem: // nothing is left of it, or it stands elsewhere
		case m.Role == llm.RoleAssistant:
			return i, last
		default:
			return -1, -1
		}
	}
	return -1, -1
}

func isWords(p *llm.Part) bool { return p.Kind == llm.PartText || p.Kind == llm.PartRefusal }

// isSilent reports whether a part is no end of what was said: white space alone, or thinking, which stands elsewhere.
func isSilent(p *llm.Part) bool {
	return p.Kind == llm.PartReasoning || isWords(p) && strings.TrimSpace(p.Text) == ""
}
