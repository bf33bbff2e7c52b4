package gateway

import (
	"sync"

	"weir/internal/llm"
	"weir/internal/provider"
)

// hangUp offers the whole answer of a request whose client has hung up to repeats of the request: SDKs have timeouts
// of their own, after which they ask again.
type hangUp struct {
	mu   sync.Mutex
	over bool        // no offer is made any more, and the body of the request may be used again
	told *lateAnswer // the offer, for which repeats wait; nil before it is made, and once it has been answered
}

// offer makes the answer known to repeats of the request, which wait as long as it is read. There is no offer for a
// stream, nor for a request with an Idempotency-Key, by which it is repeated.
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

// reply returns the attempt's answer for repeats, before its usage and its cost are known; nil where none was offered.
func (h *hangUp) reply(a *attempt, resp *provider.Response, body []byte) *lateReply {
	if !h.end() {
		return nil
	}
	r := a.lateReply()
	r.read(a, resp, body)
	return r
}

// settled gives the answer to repeats, with its usage and its cost, once it is settled.
func (h *hangUp) settled(c *call, reply *lateReply, usage *llm.Usage) {
	if reply == nil {
		return
	}
	reply.usage, reply.spent.money, reply.spent.priced = *usage, c.spent.money, c.spent.priced
	h.give(c, reply)
}

// give ends the wait of repeats, with that reply; nil where no answer came.
func (h *hangUp) give(c *call, reply *lateReply) {
	if !h.end() {
		return
	}
	told := h.told
	h.told = nil
	c.server.late.came(told, reply, capacity{server: c.server, account: c.held.account})
}
