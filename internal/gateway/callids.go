package gateway

import (
	"bytes"

	"github.com/google/uuid"

	"weir/internal/dialect/callid"
	"weir/internal/llm"
	"weir/internal/sse"
)

// mostOpened bounds the tool calls that get an id in a stream that is passed through.
const mostOpened = 1024

// callIDs maps the ids of the tool calls in an attempt's answer.
type callIDs struct {
	request  uuid.UUID
	provider string            // its name
	before   []string          // ids of the conversation, if the request was translated
	names    map[string]string // the client's tool names, by the names that the provider was sent; nil if equal
	recast   bool              // the client's tools were sent as functions in its own wire format
	namer    *callid.Namer
	opened   map[[2]int]bool // open calls of a stream that is passed through, by choice and index
}

// passes reports whether the answer's bytes pass to the client: client and provider use the same wire format, and the
// calls have the form in which the client offered its tools.
func (a *attempt) passes() bool { return a.Spoken == a.Op && !a.ids.recast }

func (c *callIDs) get() *callid.Namer {
	if c.namer == nil {
		c.namer = callid.NewNamer(c.request, c.provider, c.before, c.names)
	}
	return c.namer
}

// nameCalls sets the ids of the tool calls in a whole answer. If client and provider use the same wire format, the
// provider's bytes are sent, and only calls without an id get one.
func (a *attempt) nameCalls(body []byte, reply *llm.Reply) []byte {
	switch {
	case a.Op.Op != llm.OpChat:
	case !a.passes() || a.Head.Stream: // a stream's events are built from the reply
		if hasCall(reply, func(*llm.ToolCall) bool { return true }) {
			a.ids.get().Reply(reply)
		}
	case a.Op.NameCalls != nil && hasCall(reply, func(c *llm.ToolCall) bool { return c.MadeUp }):
		return a.Op.NameCalls(body, func(_, _ int, name string) string { return a.ids.get().ID("", name, true) })
	}
	return body
}

// hasCall reports whether a reply has a tool call that satisfies is.
func hasCall(r *llm.Reply, is func(c *llm.ToolCall) bool) bool {
	for i := range r.Choices {
		parts := r.Choices[i].Message.Parts
		for j := range parts {
			if c := parts[j].Call; c != nil && is(c) {
				return true
			}
		}
	}
	return false
}

// named sets missing ids of tool calls in an event that is passed through.
func (r *relay) named(frame sse.Event) sse.Event {
	op := r.in.Op
	if op.NameCalls == nil || !bytes.Contains(frame.Data, []byte(`"tool_calls"`)) {
		return frame
	}
	data := op.NameCalls(frame.Data, r.attempt.ids.opens)
	if len(data) == len(frame.Data) {
		return frame
	}
	return sse.Event{Name: frame.Name, Data: data, Raw: op.Framing.Append(nil, string(frame.Name), data)}
}

// opens returns an id for a call without one that a piece of a stream opens; empty for a piece of an open call. Index
// is -1 if the provider sent none.
func (c *callIDs) opens(choice, index int, name string) string {
	at := [2]int{choice, index}
	if name == "" || c.opened[at] || len(c.opened) == mostOpened {
		return ""
	}
	if index >= 0 {
		if c.opened == nil {
			c.opened = map[[2]int]bool{}
		}
		c.opened[at] = true
	}
	return c.get().ID("", name, true)
}
