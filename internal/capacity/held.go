package capacity

import (
	"context"
	"time"

	"weir/internal/fairqueue"
	"weir/internal/rawio"
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

// Turn is the right to run one step of work. End must be called when the step has ended. The zero Turn needs no End.
type Turn struct {
	processor *processor       // counts a step that needs no queue
	queue     *fairqueue.Queue // of a step that waited
	account   string
}

// End ends the step.
func (t Turn) End() {
	switch {
	case t.queue != nil:
		t.queue.Leave(t.account)
	case t.processor != nil:
		t.processor.leave()
	}
}

// Turn begins a step that processes size bytes. It waits for a turn if size is large or other steps run. The step does
// not begin if the client has left. The step itself must not block. Without capacity (nil) nothing waits.
func (h *Held) Turn(size int) (Turn, error) {
	if h == nil {
		return Turn{}, nil
	}
	if q := h.node.processor.begin(size); q != nil {
		return h.awaitTurn(q)
	}
	return Turn{processor: h.node.processor}, nil
}

// TurnFor runs work on size bytes, and waits for a turn if size is large.
func (h *Held) TurnFor(size int64, work func() error) error {
	if size < largeRead {
		return work()
	}
	turn, err := h.awaitTurn(h.node.processor.large)
	if err != nil {
		return err
	}
	defer turn.End()
	return work()
}

func (h *Held) awaitTurn(q *fairqueue.Queue) (Turn, error) {
	ctx := h.client.Request.Context()
	if !h.takeTurn(ctx, q) {
		if ctx.Err() != nil {
			return Turn{}, ErrGone
		}
		return Turn{}, h.Refuse(telemetry.CPU)
	}
	turn := Turn{queue: q, account: h.account}
	if ctx.Err() != nil {
		turn.End()
		return Turn{}, ErrGone
	}
	return turn, nil
}

// takeTurn waits for a turn. Requests that have had one come before others of their account, because they hold more
// memory.
func (h *Held) takeTurn(ctx context.Context, q *fairqueue.Queue) bool {
	took := q.Enter(ctx, h.account, h.begun) == nil
	h.begun = h.begun || took
	rawio.WakeMonitor() // the step may take long
	return took
}

// TurnAnyway begins a step of size bytes that must be done in any case: in a turn if size is large or other steps run,
// and without one after the longest wait.
func (h *Held) TurnAnyway(size int) Turn {
	if h == nil {
		return Turn{}
	}
	q := h.node.processor.begin(size)
	switch {
	case q == nil:
		return Turn{processor: h.node.processor}
	case h.takeTurn(context.WithoutCancel(h.client.Request.Context()), q):
		return Turn{queue: q, account: h.account}
	}
	return Turn{}
}
