package capacity

import (
	"context"
	"time"

	"weir/internal/fairqueue"
	"weir/internal/telemetry"
)

// Held records the pipeline slots, memory and processor turns that a request holds.
type Held struct {
	node     *Node
	client   *Client
	account  string // the account that the share belongs to; empty before authentication
	admitted bool   // holds a pipeline slot, which must be freed
	begun    bool   // has had a processor turn
	reserved int64  // bytes of request bodies
	answer   int64  // bytes of the current answer
	kept     int64  // bytes of answer that stay until it has ended
	// overdrawn is set while the answer uses the node's overdraft, overkept while its lasting state needs it.
	overdrawn, overkept bool
}

// Account returns the id of the account that the request is charged to; empty before TakeShare.
func (h *Held) Account() string { return h.account }

// IsAdmitted reports whether the request holds a slot, which Node.Leave must free.
func (h *Held) IsAdmitted() bool { return h.admitted }

// Reserved returns how many bytes of request bodies are reserved.
func (h *Held) Reserved() int64 { return h.reserved }

// Priority returns the priority that the client requests.
func (h *Held) Priority() telemetry.Priority { return priorityOf(h.client.Request.Header) }

// Enter takes a pipeline slot.
func (h *Held) Enter() error {
	reason := h.node.admission.enter(h.Priority())
	if reason != telemetry.NotShed {
		return h.Refuse(reason)
	}
	h.admitted = true
	return nil
}

// TakeShare charges the slot to the share of the account, which is now known. As at admission, a few interactive
// requests may wait for a slot to become free.
func (h *Held) TakeShare(account string) error {
	n := h.node
	got := n.slots.take(account, 1)
	if got != granted && h.Priority() == telemetry.Interactive && n.waiting.take(account, 1) == granted {
		got = n.awaitShare(h.client.Request.Context(), account)
		n.waiting.giveBack(account, 1)
	}
	if got != granted {
		return h.Refuse(telemetry.AccountConcurrency)
	}
	h.account = account
	return nil
}

// awaitShare tries for queueWait to get a slot.
func (n *Node) awaitShare(ctx context.Context, account string) taken {
	const looks = 8
	every := time.NewTicker(queueWait / looks)
	defer every.Stop()
	for range looks {
		select {
		case <-every.C:
		case <-ctx.Done():
			return ownShare
		}
		if n.slots.take(account, 1) == granted {
			return granted
		}
	}
	return ownShare
}

// EnterStream asks for admission again, now that the answer is known to be a stream.
func (h *Held) EnterStream() error {
	reason := h.node.admission.takesStream(h.Priority(), h.node.slots.below(h.account))
	if reason != telemetry.NotShed {
		return h.Refuse(reason)
	}
	return nil
}

// Refuse counts and returns the refusal of a request.
func (h *Held) Refuse(reason telemetry.Reason) error {
	h.node.options.Metrics.Shed(reason, h.Priority())
	return refusal(reason, h.Priority())
}

// Reserve reserves n bytes more for request bodies, or returns the refusal.
func (h *Held) Reserve(n int64) error {
	switch h.node.bodies.take(h.account, n) {
	case ownShare:
		return h.Refuse(telemetry.AccountBodies)
	case nothing:
		return h.Refuse(telemetry.Bodies)
	}
	h.reserved += n
	return nil
}

// Release releases n bytes of request bodies.
func (h *Held) Release(n int64) {
	h.reserved -= n
	if n != 0 {
		h.node.bodies.giveBack(h.account, n)
		h.node.released(n)
	}
}

// ReleaseAll releases all bytes of request bodies.
func (h *Held) ReleaseAll() { h.Release(h.reserved) }

// InTurn runs a step that processes size bytes. The step waits for its turn if size is large or other steps run. It
// does not begin if the client has left. The step itself must not block.
func (h *Held) InTurn(size int, work func() error) error {
	if t := h.node.processor.begin(size); t != nil {
		return h.awaitTurn(t, work)
	}
	defer h.node.processor.leave()
	return work()
}

// TurnFor runs work on size bytes, and waits for a turn if size is large.
func (h *Held) TurnFor(size int64, work func() error) error {
	if size < largeRead {
		return work()
	}
	return h.awaitTurn(h.node.processor.large, work)
}

func (h *Held) awaitTurn(q *fairqueue.Queue, work func() error) error {
	ctx := h.client.Request.Context()
	if !h.takeTurn(ctx, q) {
		if ctx.Err() != nil {
			return ErrGone
		}
		return h.Refuse(telemetry.CPU)
	}
	defer q.Leave(h.account)
	if ctx.Err() != nil {
		return ErrGone
	}
	return work()
}

// takeTurn waits for a turn. Requests that have had one come before others of their account, because they hold more
// memory.
func (h *Held) takeTurn(ctx context.Context, q *fairqueue.Queue) bool {
	took := q.Enter(ctx, h.account, h.begun) == nil
	h.begun = h.begun || took
	return took
}

// Step runs a step of size bytes that must be done in any case: in a turn if size is large or other steps run, and
// without one after the longest wait.
func (h *Held) Step(size int, work func()) {
	switch q := h.node.processor.begin(size); {
	case q == nil:
		defer h.node.processor.leave()
	case h.takeTurn(context.WithoutCancel(h.client.Request.Context()), q):
		defer q.Leave(h.account)
	}
	work()
}
