package gateway

import (
	"bytes"

	"weir/internal/dialect/callid"
	"weir/internal/llm"
	"weir/internal/sse"
)

// mostOpened bounds the calls that get an id in a stream that goes out as it came.
const mostOpened = 1024

// callIDs are the ids of the calls of an attempt's answer.
type callIDs struct {
	before []string          // those of the conversation, where the request was translated
	names  map[string]string // the client's names of tools, by those that the provider was sent; nil for the same
	namer  *callid.Namer
	opened map[[2]int]bool // calls of a stream that goes out as it came, by choice and index
}

// history returns the messages as they go to the attempt's provider, with the ids that it gave.
func (a *attempt) history(messages []llm.Message) (sent []llm.Message) {
	sent, a.ids.before = callid.History(messages, a.Target.Provider.Name())
	return sent
}

func (a *attempt) namer() *callid.Namer {
	if a.ids.namer == nil {
		a.ids.namer = callid.NewNamer(a.call.id.UUID, a.Target.Provider.Name(), a.ids.before, a.ids.names)
	}
	return a.ids.namer
}

// nameCalls gives the calls of a whole answer their ids. Where client and provider speak the same, what goes
// out are the provider's own bytes, and only calls without an id get one.
func (a *attempt) nameCalls(body []byte, reply *llm.Reply) []byte {
	switch {
	case a.Op.Op != llm.OpChat:
	case a.Spoken != a.Op || a.Head.Stream: // of a stream, events are made of it
		if hasCall(reply, func(*llm.ToolCall) bool { return true }) {
			a.namer().Reply(reply)
		}
	case a.Op.NameCalls != nil && hasCall(reply, func(c *llm.ToolCall) bool { return c.MadeUp }):
		return a.Op.NameCalls(body, func(_, _ int, name string) string { return a.namer().ID("", name, true) })
	}
	return body
}

// hasCall reports whether a reply has such a call.
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

// named does the same with an event that goes out as it came.
func (r *relay) named(frame sse.Event) sse.Event {
	op := r.call.Op
	if op.NameCalls == nil || !bytes.Contains(frame.Data, []byte(`"tool_calls"`)) {
		return frame
	}
	data := op.NameCalls(frame.Data, r.attempt.opens)
	if len(data) == len(frame.Data) {
		return frame
	}
	return sse.Event{Name: frame.Name, Data: data, Raw: op.Framing.Append(nil, string(frame.Name), data)}
}

// opens returns an id for a call without one that a piece of a stream opens; empty for a piece of a call that is
// open. Index is -1 where the provider gave none.
func (a *attempt) opens(choice, index int, name string) string {
	at := [2]int{choice, index}
	if name == "" || a.ids.opened[at] || len(a.ids.opened) == mostOpened {
		return ""
	}
	if index >= 0 {
		if a.ids.opened == nil {
			a.ids.opened = map[[2]int]bool{}
		}
		a.ids.opened[at] = true
	}
	return a.namer().ID("", name, true)
}
