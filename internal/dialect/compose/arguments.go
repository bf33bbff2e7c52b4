package compose

import (
	"slices"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// mostArgumentDepth leaves room for the levels around the arguments of a call, in a body of a hundred levels.
const mostArgumentDepth = 90

// Objects returns messages for a wire format whose tool calls have only objects as arguments. It wraps invalid
// arguments, which a model cut off or wrote in another form, in an object, so that the conversation can continue, and
// reports that.
func (u *Unsent) Objects(messages []llm.Message) []llm.Message {
	if u.Own {
		return messages
	}
	changed := false
	for i := range messages {
		if !slices.ContainsFunc(messages[i].Parts, isOdd) {
			continue
		}
		if !changed {
			messages, changed = slices.Clone(messages), true
		}
		messages[i].Parts = slices.Clone(messages[i].Parts)
		for j := range messages[i].Parts {
			if p := &messages[i].Parts[j]; isOdd(*p) {
				call := *p.Call
				call.Arguments = u.object(call.Arguments)
				p.Call = &call
			}
		}
	}
	return messages
}

// isOdd reports whether a part is a call whose arguments are not an object.
func isOdd(p llm.Part) bool { return p.Call != nil && !isObject(p.Call.Arguments) }

func isObject(arguments string) bool {
	return strings.HasPrefix(strings.TrimLeft(arguments, " \t\r\n"), "{") &&
		rawjson.Validate([]byte(arguments), mostArgumentDepth) == nil
}

func (u *Unsent) object(arguments string) string {
	switch strings.TrimSpace(arguments) {
	case "", "null", "[]":
		return "{}"
	}
	u.Drop("broken tool call arguments")
	return string(append(rawjson.AppendString([]byte(`{"_raw":`), arguments), '}'))
}
