package rules

import (
	"slices"
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// UserFirst asks that the user speaks first.
type UserFirst struct{}

// opening is what the user says where the assistant spoke first, as chats do that begin with a greeting.
const opening = "Hello."

// Broken is the role of who else does.
func (UserFirst) Broken(r *llm.Request, _ []byte) string {
	if i := firstSpoken(r.Messages); i >= 0 && r.Messages[i].Role == llm.RoleAssistant {
		return string(llm.RoleAssistant)
	}
	return ""
}

// firstSpoken is the first message that is no system's and is not thought alone; -1 for none.
func firstSpoken(messages []llm.Message) int {
	return slices.IndexFunc(messages, func(m llm.Message) bool { return m.Role != llm.RoleSystem && !isUnwritten(&m) })
}

// Fit has the user say a word.
func (UserFirst) Fit(f *Fitting) error {
	f.Messages = slices.Insert(f.Messages, firstSpoken(f.Messages), says(llm.RoleUser, opening))
	f.parts = map[int]bool{} // messages stand elsewhere
	return nil
}

// Example has a greeting.
func (UserFirst) Example() *llm.Request {
	r := saying("hello")
	r.Messages = slices.Insert(r.Messages, 0, says(llm.RoleAssistant, "What can I do for you?"))
	return r
}

func (UserFirst) String() string { return "The user speaks first" }

// Alternation asks that the user and the assistant take turns. The encoder joins what one of them says in a row, once it
// has left out what the model does not take back, so requests that are written from a tree hold this.
type Alternation struct{}

// Broken is the place of the first message, in a body, whose speaker has spoken right before.
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

// Fit changes nothing: what is sent is right.
func (Alternation) Fit(*Fitting) error { return nil }

// Example is a request of one message. What breaks the rule are two in its body.
func (Alternation) Example() *llm.Request { return saying("hello") }

func (Alternation) String() string {
	return "The user, which a tool's result is of, and the assistant take turns"
}
