package rules

import (
	"slices"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
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
	return nil
}

// Example returns a request that begins with a greeting of the assistant.
func (UserFirst) Example() *llm.Request {
	r := saying("hello")
	r.Messages = slices.Insert(r.Messages, 0, says(llm.RoleAssistant, "What can I do for you?"))
	return r
}

func (UserFirst) String() string { return "The first message is the user's" }

// Alternation requires alternating messages of user and assistant. The encoder joins consecutive messages of one role
// after it has omitted content that the model does not accept, so requests built from a tree keep the rule.
type Alternation struct{}

// Broken returns the index of the first message in a body that has the role of the message before it.
func (Alternation) Broken(_ *llm.Request, body []byte) string {
	before := ""
	for i, m := range rawjson.Elements(rawjson.Get(body, "messages")) {
		role := rawjson.Text(rawjson.Get(m, "role"))
		if role == before {
			return strconv.Itoa(i)
		}
		before = role
	}
	return ""
}

// Fit changes nothing, because the encoder keeps the rule.
func (Alternation) Fit(*Fitting) error { return nil }

// Example returns a request with one message. Only two messages in a body break the rule.
func (Alternation) Example() *llm.Request { return saying("hello") }

func (Alternation) String() string {
	return "Messages of user and assistant alternate; tool results count as the user's"
}
