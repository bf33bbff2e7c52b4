package rules

import (
	"fmt"
	"slices"
	"strings"

	"weir/internal/llm"
)

// NoEmptyTexts asks that each message has a content, and each text in it some words.
type NoEmptyTexts struct {
	Blank bool // white space alone is no text, nor is it one in a tool's result
}

// Broken is the first text that has none, or message that has nothing.
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

// isEmpty reports whether a part is a text without words. Google takes one that it has signed.
func (a NoEmptyTexts) isEmpty(p llm.Part) bool {
	if a.Blank {
		return isWords(&p) && strings.TrimSpace(p.Text) == ""
	}
	signed := p.Signature != "" && (p.Maker == "" || p.Maker == google)
	return isWords(&p) && p.Text == "" && !signed
}

// Fit leaves them out.
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

// Example has an empty text before another.
func (NoEmptyTexts) Example() *llm.Request {
	r := saying("")
	r.Messages[0].Parts = append(r.Messages[0].Parts, llm.Part{Kind: llm.PartText, Text: "hello"})
	return r
}

func (a NoEmptyTexts) String() string {
	if a.Blank {
		return "No message and no text is empty, or white space alone"
	}
	return "No message and no text is empty"
}

// SomethingSaid asks for a message that is no system's.
type SomethingSaid struct{}

// Broken is the field of the conversation where it has none, but for what was thought.
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

// Fit refuses: there is nothing to answer.
func (SomethingSaid) Fit(*Fitting) error {
	return llm.Invalid("messages", "The messages hold nothing that the user or the assistant says. The provider of this model "+
		"needs a message that is not a system one, and not empty.")
}

// Example has a message of the system alone.
func (SomethingSaid) Example() *llm.Request {
	return &llm.Request{Messages: []llm.Message{says(llm.RoleSystem, "Be brief.")}}
}

func (SomethingSaid) String() string { return "The user, or the assistant, says something" }
