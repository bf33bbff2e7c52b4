package gateway

import (
	"sync"

	"weir/internal/idempotency"
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
func (h *hangUp) offer(in *intake) {
	if in.token == "" || in.Head.Stream || in.Op.Free {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over || h.told != nil { // over: the request's body and header may be in use again
		return
	}
	if own, _ := idempotency.KeyOf(in.r.Header); own != "" {
		return
	}
	told := &lateAnswer{read: make(chan struct{})}
	in.server.late.offer(in.principal.Key().ID, in.repeat(), in.server.timing.DrainAnswer, []*lateAnswer{told})
	if told.key == "" {
		return // the list of offers is full
	}
	h.told = told
	in.server.log.Debug("a client hung up, and repeats of its request may get the answer", "request", in.id.text)
}

// end ends the time of offers, and reports whether repeats may wait for the answer.
func (h *hangUp) end() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	return h.told != nil
}

// give ends the wait of repeats with the reply; nil means that no answer arrived.
func (h *hangUp) give(in *intake, reply *lateReply) {
	if !h.end() {
		return
	}
	told := h.told
	h.told = nil
	in.server.late.came(told, reply, in.server.capacity.Hold(nil, in.held.Account()))
}
