package gateway

import (
	"strings"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
)

// mostArguments bounds the arguments of a stream's tool calls that are stored for a check, in bytes.
const mostArguments = 8 << 20

// heardCalls collects the tool calls of a stream that is translated for a client API with arguments as JSON objects.
type heardCalls struct {
	calls map[[2]int]*heardCall // by choice and position
	size  int
}

type heardCall struct {
	name      string
	arguments strings.Builder
}

// add adds an event of a tool call.
func (h *heardCalls) add(e *llm.Event) {
	if e.Kind != llm.EventToolCall {
		return
	}
	if h.size += len(e.Text) + len(e.Tool.Name); h.size > mostArguments {
		return
	}
	at := [2]int{e.Choice, e.Tool.Index}
	c := h.calls[at]
	if c == nil {
		if h.calls == nil {
			h.calls = map[[2]int]*heardCall{}
		}
		c = &heardCall{name: e.Tool.Name}
		h.calls[at] = c
	}
	c.arguments.WriteString(e.Text)
}

// malformed returns the name of a tool that is called with arguments other than a JSON object, if there is one. It
// ignores calls that a cap or a filter cut off, and all calls if their arguments together are too long.
func (h *heardCalls) malformed(finish []llm.FinishReason) (name string, is bool) {
	if h.size > mostArguments {
		return "", false
	}
	for at, c := range h.calls {
		if _, ok := parse.Object(c.arguments.String()); !ok && at[0] < len(finish) && !isCut(finish[at[0]]) {
			return c.name, true
		}
	}
	return "", false
}

// malformedCall does the same for a whole reply.
func malformedCall(r *llm.Reply) (name string, is bool) {
	for i := range r.Choices {
		c := &r.Choices[i]
		for j := range c.Message.Parts {
			call := c.Message.Parts[j].Call
			if call == nil || isCut(c.Finish) {
				continue
			}
			if _, ok := parse.Object(call.Arguments); !ok {
				return call.Name, true
			}
		}
	}
	return "", false
}

func isCut(f llm.FinishReason) bool { return f != llm.FinishToolCalls && f != llm.FinishStop }
