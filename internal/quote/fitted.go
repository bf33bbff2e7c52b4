package quote

import (
	"weir/internal/dialect/callid"
	"weir/internal/dialect/compose"
	"weir/internal/dialect/rules"
	"weir/internal/llm"
)

// Fitted holds a request in its form for the target.
type Fitted struct {
	Request *llm.Request
	IDs     []string          // the client's ids of tool calls in its conversation
	Names   map[string]string // the client's names of tools, by the names sent instead

	of       *llm.Request  // the client's request
	offered  *llm.Request  // before rules changed it
	messages []llm.Message // its messages with the client's ids
	err      error
}

// Fitted returns a client's request in a form that the target's wire format and vendor accept. It is computed once
// and must not be changed. The error is an *llm.Error; the returned request is the one that it refers to.
func (q *Quote) Fitted(tree *llm.Request) (*Fitted, error) {
	f := &q.fitted
	if f.of == tree {
		return f, f.err
	}
	offered := *compose.Offered(q.Speaks.Name, tree) // so that all calls and results have the ids for the provider
	offered.Model, offered.Stream = q.Target.Model, q.Head.Stream
	*f = Fitted{of: tree, offered: &offered, messages: offered.Messages}
	offered.Messages, f.IDs = callid.History(offered.Messages, q.Target.Provider.Name())
	f.Request, f.Names, f.err = q.Rules().Fit(keyed(q, marked(q, &offered)), q.Speaks == q.Dialect)
	return f, f.err
}

// Detached returns a copy of the quote without its references to the request, for storage.
func (q *Quote) Detached() Quote {
	kept := *q
	kept.Request, kept.fitted = nil, Fitted{}
	return kept
}

// growth returns an upper bound of the bytes that fitting adds to a request. An unchanged request and one that will
// be refused gain none.
func (q *Quote) growth(tree *llm.Request) int64 {
	if q.Speaks == q.Dialect && !q.BreaksOwn() {
		return 0
	}
	f, err := q.Fitted(tree)
	if err != nil || f.Request == f.offered && len(f.IDs) == 0 {
		return 0
	}
	before := *f.offered
	before.Messages = f.messages
	return rules.Growth(&before, f.Request)
}

// MayBreakOwn reports whether a request that would be sent unchanged must be decoded, because it may break a rule of
// the target's vendor, or marks of its prompt cache may be added.
func (q *Quote) MayBreakOwn() bool {
	return q.Op.Op == llm.OpChat && (leastPrompt(q) > 0 || q.Rules().MayBreakOwn(q.Target.Model, q.Body))
}

// BreaksOwn reports whether a request in the target's wire format cannot be sent unchanged, because it breaks a rule of
// the target's vendor or gets marks of its prompt cache. A request that cannot be decoded is sent unchanged.
func (q *Quote) BreaksOwn() bool {
	if !q.MayBreakOwn() {
		return false
	}
	tree, err := q.Tree()
	return err == nil && (q.Rules().BreaksOwn(q.Target.Model, tree, q.Body) || marked(q, tree) != tree)
}
