package callid

import (
	"slices"
	"strconv"

	"weir/internal/llm"
)

// History returns the messages for a provider, and the client's ids of their calls. It restores the provider's ids,
// makes repeated ids unique, and gives a result without an id the id of its call. It does not change its argument.
func History(messages []llm.Message, provider string) (sent []llm.Message, ids []string) {
	if !slices.ContainsFunc(messages, hasCall) {
		return messages, nil
	}
	h := history{provider: provider, used: map[string]int{}, counts: map[string]int{}, waiting: map[string][]int{}}
	sent = messages
	for i := range messages {
		if parts, changed := h.parts(&messages[i]); changed {
			if &sent[0] == &messages[0] {
				sent = slices.Clone(messages)
			}
			sent[i].Parts = parts
		}
	}
	return sent, h.ids
}

func hasCall(m llm.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Call != nil || p.Result != nil })
}

// call is a tool call of the history.
type call struct {
	id       string // as sent to the provider
	answered bool
}

// history iterates over the messages of a conversation.
type history struct {
	provider string
	ids      []string
	used     map[string]int   // ids sent to the provider, with 1 + the first call of their step
	counts   map[string]int   // suffixes used for an id
	calls    []call           // all calls so far
	turn     int              // the first call of the current step
	next     int              // the first call that results without an id have not passed
	waiting  map[string][]int // unanswered calls by the client's id
	spoken   llm.Role         // the role of the message before
}

// parts returns the parts of a message and reports whether they changed.
func (h *history) parts(m *llm.Message) (parts []llm.Part, changed bool) {
	if m.Role == llm.RoleAssistant && h.spoken != llm.RoleAssistant {
		h.turn = len(h.calls)
	}
	h.spoken = m.Role
	parts = m.Parts
	for i := range m.Parts {
		p, other := m.Parts[i], false
		switch {
		case p.Call != nil:
			p.Call, other = h.call(p.Call)
		case p.Result != nil:
			p.Result, other = h.result(p.Result)
		}
		if other && !changed {
			parts, changed = slices.Clone(m.Parts), true
		}
		if other {
			parts[i] = p
		}
	}
	return parts, changed
}

func (h *history) call(c *llm.ToolCall) (*llm.ToolCall, bool) {
	h.ids = append(h.ids, c.ID)
	id, ok := given(c.ID, c.Name, h.provider)
	if !ok || h.used[id] == h.turn+1 {
		id = h.distinct(c.ID)
	}
	h.used[id] = h.turn + 1
	waiting := h.waiting[c.ID]
	if len(waiting) > 0 && waiting[0] < h.turn {
		waiting = nil // calls of an earlier step will not be answered
	}
	h.waiting[c.ID] = append(waiting, len(h.calls))
	h.calls = append(h.calls, call{id: id})
	if id == c.ID {
		return c, false
	}
	other := *c
	other.ID = id
	return &other, true
}

// mostDistinct bounds the beginning of an id to which a number is appended.
const mostDistinct = 32

// distinct returns the id, with a number appended if another call has it.
func (h *history) distinct(id string) string {
	if h.used[id] == 0 {
		return id
	}
	base := id[:min(len(id), mostDistinct)]
	for {
		h.counts[base]++
		if other := base + "-" + strconv.Itoa(h.counts[base]+1); h.used[other] == 0 {
			return other
		}
	}
}

func (h *history) result(r *llm.ToolResult) (*llm.ToolResult, bool) {
	i := h.answers(r.CallID)
	if i < 0 || h.calls[i].id == r.CallID {
		return r, false
	}
	other := *r
	other.CallID = h.calls[i].id
	return &other, true
}

// answers returns the call that a result with the client's id answers: the first unanswered one; -1 for none. Several
// results may answer one call.
func (h *history) answers(id string) int {
	if id == "" {
		for h.next = max(h.next, h.turn); h.next < len(h.calls); h.next++ {
			if c := &h.calls[h.next]; !c.answered {
				c.answered = true
				return h.next
			}
		}
		return -1
	}
	waiting := h.waiting[id]
	if len(waiting) == 0 {
		return -1
	}
	if len(waiting) > 1 {
		h.waiting[id] = waiting[1:]
	}
	h.calls[waiting[0]].answered = true
	return waiting[0]
}
