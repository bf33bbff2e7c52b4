package gateway

import (
	"sync"

	"weir/internal/llm"
	"weir/internal/provider"
)

// hangUp offers the whole answer of a request to repeats of it after the client has hung up, because SDKs have timeouts
// of their own and then send the request again.
type hangUp struct {
	mu   sync.Mutex
	over bool        // no more offers; the body of the request may be reused
	told *lateAnswer // the offer that repeats wait for; nil before it is made and after it was answered
}

// offer offers the answer to repeats of the request, which wait while it is read. Streams are not offered, nor are
// answers to requests with an Idempotency-Key, which repeats use instead.
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
		return // the list of offers is full
	}
	h.told = told
	c.server.log.Debug("a client hung up, and repeats of its request may get the answer", "request", c.id.text)
}

// end ends the time of offers, and reports whether repeats may wait for the answer.
func (h *hangUp) end() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	return h.told != nil
}

// reply returns the attempt's answer for repeats, before its usage and cost are known; nil if it was not offered.
func (h *hangUp) reply(a *attempt, resp *provider.Response, body []byte) *lateReply {
	if !h.end() {
		return nil
	}
	r := a.lateReply()
	r.read(a, resp, body)
	return r
}

// settled passes the answer to repeats, with its usage and cost, after it was settled.
func (h *hangUp) settled(c *call, reply *lateReply, usage *llm.Usage) {
	if reply == nil {
		return
	}
	reply.usage, reply.spent.money, reply.spent.priced = *usage, c.spent.money, c.spent.priced
	h.give(c, reply)
}

// give ends the wait of repeats with the reply; nil means that no answer arrived.
func (h *hangUp) give(c *call, reply *lateReply) {
	if !h.end() {
		return
	}
	told := h.told
	h.told = nil
	c.server.late.came(told, reply, c.server.capacity.Hold(nil, c.held.Account()))
}
