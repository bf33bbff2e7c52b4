package rules

import (
	"strings"
	"unicode"

	"weir/internal/llm"
)

// NoPrefill forbids a last message of the assistant, which the model would not continue.
type NoPrefill struct{}

// Broken returns the role of such a message.
func (NoPrefill) Broken(r *llm.Request, _ []byte) string {
	if i, _ := begun(r); i >= 0 {
		return string(llm.RoleAssistant)
	}
	return ""
}

// Fit refuses the request, because the answer would be a different one.
func (NoPrefill) Fit(*Fitting) error {
	return llm.Invalid("messages",
		"This model does not continue an assistant message. End the messages with a user message.")
}

func (NoPrefill) String() string { return "The last message is the user's or a tool result" }

// NoSpaceAtEnd forbids trailing white space in a last message of the assistant.
type NoSpaceAtEnd struct{}

// Broken returns the role of a message with trailing white space.
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

// Fit removes the white space.
func (NoSpaceAtEnd) Fit(f *Fitting) error {
	i, j := begun(f.Request)
	p := f.part(i, j)
	p.Text = trimmed(p.Text)
	f.Drop("trailing white space")
	return nil
}

func (NoSpaceAtEnd) String() string {
	return "A last message of the assistant has no trailing white space"
}

// begun returns the indexes of the message and the part with which the assistant has begun an answer or made a call;
// -1 if the last message is the user's or a tool's.
func begun(r *llm.Request) (message, part int) {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		m := &r.Messages[i]
		last := len(m.Parts) - 1
		for last >= 0 && isSilent(&m.Parts[last]) {
			last--
		}
		switch {
		case last < 0, m.Role == llm.RoleSystem: // the message is empty, or not part of the conversation
		case m.Role == llm.RoleAssistant:
			return i, last
		default:
			return -1, -1
		}
	}
	return -1, -1
}

func isWords(p *llm.Part) bool { return p.Kind == llm.PartText || p.Kind == llm.PartRefusal }

// isSilent reports whether a part does not count as the end of a message: white space, or thinking, which is sent
// elsewhere.
func isSilent(p *llm.Part) bool {
	return p.Kind == llm.PartReasoning || isWords(p) && strings.TrimSpace(p.Text) == ""
}
