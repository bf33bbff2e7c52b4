package quote

import (
	"weir/internal/dialect/callid"
	"weir/internal/dialect/compose"
	"weir/internal/dialect/rules"
	"weir/internal/llm"
)

// Fitted holds a request as the target gets it.
type Fitted struct {
	Request *llm.Request
	IDs     []string          // of the calls of its conversation, as the client knows them
	Names   map[string]string // the client's names of tools, by those that are sent in their place

	of       *llm.Request  // the client's request
	offered  *llm.Request  // before it was fitted
	messages []llm.Message // likewise, with the client's ids
	err      error
}

// Fitted returns a client's request in the form that the target's wire format and its vendor take. It is made once for a
// request, and not to be changed. An error is an *llm.Error, and about the messages of the request that comes with it.
func (q *Quote) Fitted(tree *llm.Request) (*Fitted, error) {
	f := &q.fitted
	if f.of == tree {
		return f, f.err
	}
	offered := *compose.Offered(q.Speaks.Name, tree) // so that all calls and results have the ids that go out
	offered.Model, offered.Stream = q.Target.Model, q.Head.Stream
	*f = Fitted{of: tree, offered: &offered, messages: offered.Messages}
	offered.Messages, f.IDs = callid.History(offered.Messages, q.Target.Provider.Name())
	f.Request, f.Names, f.err = q.Rules().Fit(&offered, q.Speaks == q.Dialect)
	return f, f.err
}

// Detached returns the quote without what it holds of its request, to be kept.
func (q *Quote) Detached() Quote {
	kept := *q
	kept.Request, kept.fitted = nil, Fitted{}
	return kept
}

// growth is how many bytes a request gains at most as it is fitted. One that goes as it came gains none, nor does one that
// will be refused.
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

// MayBreakOwn reports whether what goes as it came is to be decoded, since it may break a rule of the target's vendor.
func (q *Quote) MayBreakOwn() bool {
	return q.Op.Op == llm.OpChat && q.Rules().MayBreakOwn(q.Target.Model, q.Body)
}

// BreaksOwn reports whether a request in the target's own wire format breaks a rule of its vendor, so that it cannot go
// as it came. What nobody here understands goes.
func (q *Quote) BreaksOwn() bool {
	if !q.MayBreakOwn() {
		return false
	}
	tree, err := q.Source.Tree()
	return err == nil && q.Rules().BreaksOwn(q.Target.Model, tree, q.Body)
}
