package rules

import (
	"slices"

	"weir/internal/llm"
)

// UserFirst requires that the first message is the user's.
type UserFirst struct{}

// opening is the inserted user message, for chats that begin with a greeting of the assistant.
const opening = "Hello."

// Broken returns the role of another first message.
func (UserFirst) Broken(r *llm.Request, _ []byte) string {
	if i := firstSpoken(r.Messages); i >= 0 && r.Messages[i].Role == llm.RoleAssistant {
		return string(llm.RoleAssistant)
	}
	return ""
}

// firstSpoken returns the index of the first message that is not a system message and has more than thinking; -1 for
// none.
func firstSpoken(messages []llm.Message) int {
	return slices.IndexFunc(messages, func(m llm.Message) bool { return m.Role != llm.RoleSystem && !isUnwritten(&m) })
}

// Fit inserts a user message.
func (UserFirst) Fit(f *Fitting) error {
	f.Messages = slices.Insert(f.Messages, firstSpoken(f.Messages), says(llm.RoleUser, opening))
	f.parts = map[int]bool{} // the indexes of messages changed
	f.Drop("assistant message first")
	return nil
}

func (UserFirst) String() string { return "The first message is the user's" }
