package rules

import (
	"fmt"
	"slices"
	"strings"

	"weir/internal/llm"
)

// NoEmptyTexts forbids messages without content and empty texts.
type NoEmptyTexts struct {
	Blank bool // also forbids texts of only white space, and both in tool results
}

// Broken returns the first empty text or empty message.
func (a NoEmptyTexts) Broken(r *llm.Request, _ []byte) string {
	for i := range r.Messages {
		parts := r.Messages[i].Parts
		if len(parts) == 0 {
			return fmt.Sprintf("messages.%d.content", i)
		}
		if j := slices.IndexFunc(parts, a.isBroken); j >= 0 {
			return fmt.Sprintf("messages.%d.content.%d", i, j)
		}
	}
	return ""
}

func (a NoEmptyTexts) isBroken(p llm.Part) bool {
	return a.isEmpty(p) || a.Blank && p.Result != nil && slices.ContainsFunc(p.Result.Parts, a.isEmpty)
}

// isEmpty reports whether a part is an empty text. Google accepts an empty text with its own signature.
func (a NoEmptyTexts) isEmpty(p llm.Part) bool {
	if a.Blank {
		return isWords(&p) && strings.TrimSpace(p.Text) == ""
	}
	signed := p.Signature != "" && (p.Maker == "" || p.Maker == google)
	return isWords(&p) && p.Text == "" && !signed
}

// Fit removes them.
func (a NoEmptyTexts) Fit(f *Fitting) error {
	if a.Blank {
		f.results(func(r *llm.ToolResult) { r.Parts = slices.DeleteFunc(slices.Clone(r.Parts), a.isEmpty) })
	}
	kept := f.Messages[:0]
	for _, m := range f.Messages {
		if slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.CacheControl != nil && a.isEmpty(p) }) {
			f.Drop("cache_control")
		}
		m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), a.isEmpty)
		if len(m.Parts) > 0 {
			kept = append(kept, m)
		}
	}
	f.Messages, f.parts = kept, map[int]bool{}
	return nil
}

func (a NoEmptyTexts) String() string {
	if a.Blank {
		return "No message and no text is empty or only white space"
	}
	return "No message and no text is empty"
}

// SomethingSaid requires a message that is not a system message.
type SomethingSaid struct{}

// Broken returns the messages field if the conversation has no such message with content other than thinking.
func (SomethingSaid) Broken(r *llm.Request, _ []byte) string {
	if r.Embedding != nil {
		return "" // its texts are not messages
	}
	isSaid := func(p llm.Part) bool { return !isThinking(p) && !NoEmptyTexts{}.isEmpty(p) }
	for i := range r.Messages {
		if m := &r.Messages[i]; m.Role != llm.RoleSystem && slices.ContainsFunc(m.Parts, isSaid) {
			return ""
		}
	}
	return "messages"
}

// Fit refuses the request, because there is nothing to answer.
func (SomethingSaid) Fit(*Fitting) error {
	return llm.Invalid("messages", "The messages contain nothing from the user or the assistant. Add a "+
		"message that is neither a system message nor empty.")
}

func (SomethingSaid) String() string {
	return "At least one message is neither empty nor a system message"
}
