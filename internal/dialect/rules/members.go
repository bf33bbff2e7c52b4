package rules

import (
	"fmt"
	"slices"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// MessageMembers restricts the members of messages. Clients return all members of an answer's message, above all its
// thinking.
type MessageMembers struct {
	Only    []string // the allowed members; nil for all
	Without string
}

const reasoningContent = "reasoning_content"

func (a MessageMembers) refuses(name string) bool {
	return a.Only != nil && !slices.Contains(a.Only, name) || name == a.Without
}

// Broken returns the first refused member. In the tree of another wire format no member corresponds to one.
func (a MessageMembers) Broken(r *llm.Request, body []byte) string {
	if body == nil && r.ExtraOf == chat {
		return a.brokenTree(r)
	}
	for i, m := range rawjson.Elements(rawjson.Get(body, "messages")) {
		for member := range rawjson.Members(m) {
			if name := member.Name(); a.refuses(name) {
				return fmt.Sprintf("messages.%d.%s", i, name)
			}
		}
	}
	return ""
}

func (a MessageMembers) brokenTree(r *llm.Request) string {
	for i := range r.Messages {
		m := &r.Messages[i]
		if at := slices.IndexFunc(m.Extra, a.isRefused); at >= 0 {
			return fmt.Sprintf("messages.%d.%s", i, m.Extra[at].Name)
		}
		if a.refuses(reasoningContent) && slices.ContainsFunc(m.Parts, isThinking) {
			return fmt.Sprintf("messages.%d.%s", i, reasoningContent)
		}
	}
	return ""
}

func (a MessageMembers) isRefused(f llm.Field) bool { return a.refuses(f.Name) }

// Fit removes them.
func (a MessageMembers) Fit(f *Fitting) error {
	for i := range f.Messages {
		m := &f.Messages[i]
		if slices.ContainsFunc(m.Extra, a.isRefused) {
			m.Extra = slices.DeleteFunc(slices.Clone(m.Extra), a.isRefused)
			f.Drop("message fields of another API")
		}
		if a.refuses(reasoningContent) && slices.ContainsFunc(m.Parts, isThinking) {
			m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), isThinking)
			f.Drop("reasoning")
		}
	}
	return nil
}

func (a MessageMembers) String() string {
	if a.Without != "" {
		return "Messages do not have `" + a.Without + "`"
	}
	return "Messages have no members of other APIs"
}
