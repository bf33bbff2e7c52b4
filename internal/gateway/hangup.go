package gateway

import (
	"slices"
	"sync"

	"weir/internal/llm"
	"weir/internal/provider"
)

// hangUp offers the whole answer of a request whose client has hung up to repeats of the request: SDKs have timeouts
// of their own, after which they ask again.
type hangUp struct {
	mu   sync.Mutex
	over bool        // it is not offered any more, and the body of the request may go
	told *lateAnswer // for which repeats wait; nil while the client is there
}

// offer makes the answer known to repeats of the request. They wait as long as it is read. A request with an
// Idempotency-Key is repeated by that.
func (h *hangUp) offer(c *call) {
	if c.token == "" || c.Head.Stream || c.Op.Free || c.idem != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over || h.told != nil {
		return
	}
	told := &lateAnswer{read: make(chan struct{})}
	c.server.late.offer(c.principal.Key().ID, repeatOf(c), c.server.timing.DrainAnswer, []*lateAnswer{told})
	if told.key == "" {
		return // there is no room for it
	}
	h.told = told
	c.server.log.Debug("a client hung up, and repeats of its request may get the answer", "request", c.id.text)
}

// end ends the time in which the answer is offered, and reports whether repeats may wait for it.
func (h *hangUp) end() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	return h.told != nil
}

// reply returns what repeats get of the attempt's answer, but for its usage and its cost; nil where nobody waits.
func (h *hangUp) reply(a *attempt, resp *provider.Response, body []byte) *lateReply {
	if !h.end() {
		return nil
	}
	r := a.lateReply()
	r.read(a, resp, body)
	return r
}

// settled gives the answer to repeats once it is settled.
func (h *hangUp) settled(c *call, reply *lateReply, usage *llm.Usage) {
	if reply == nil {
		return
	}
	reply.usage, reply.spent.money, reply.spent.priced = *usage, c.spent.money, c.spent.priced
	h.give(c, reply)
}

// give ends the wait of repeats: reply is nil where no answer came.
func (h *hangUp) give(c *call, reply *lateReply) {
	if !h.end() {
		return
	}
	told := h.told
	h.told = nil
	c.server.late.came(told, reply, capacity{server: c.server, account: c.held.account})
}

// lateReply returns what repeats of the request get, before there is an answer.
func (a *attempt) lateReply() *lateReply {
	c, target := a.call, *a.Target
	r := &lateReply{
		quote: a.Quote, dropped: slices.Clip(a.dropped), before: a.ids.before, names: a.ids.names, called: c.tree.called,
		request: c.id.text, spent: spent{models: slices.Clone(c.spent.models)},
	}
	r.quote.Target, r.quote.Request = &target, nil
	return r
}

// read takes note of the answer.
func (r *lateReply) read(a *attempt, resp *provider.Response, body []byte) {
	if r.body = body; a.Spoken.Raw {
		r.contentType = resp.Header.Get("Content-Type")
	}
}
