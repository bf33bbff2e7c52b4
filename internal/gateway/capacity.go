package gateway

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/telemetry"
)

// client is the sender of a request. It records whether the client is still connected.
type client struct {
	r           *http.Request
	writeFailed atomic.Bool // a write failed because the client accepts no more data
}

// gone reports whether the client has left: its connection broke, or a write to it failed.
func (c *client) gone() bool {
	ctx := c.r.Context()
	return c.writeFailed.Load() || ctx.Err() != nil && !errors.Is(context.Cause(ctx), errStopping)
}

// left returns errGone if the client of a large body has left, so that no further work begins.
func (c *client) left(size int) error {
	if size >= largeBody && c.r.Context().Err() != nil {
		return errGone
	}
	return nil
}

// capacity records the pipeline slots, memory and processor turns that a request holds.
type capacity struct {
	server   *Server
	client   *client
	account  string // the account that the share belongs to; empty before authentication
	admitted bool   // holds a pipeline slot, which must be freed
	begun    bool   // has had a processor turn
	reserved int64  // bytes of request bodies
	answer   int64  // bytes of the current answer
	kept     int64  // bytes of answer that stay until it has ended
	// overdrawn is set while the answer uses the server's overdraft, overkept while its lasting state needs it.
	overdrawn, overkept bool
}

func (h *capacity) priority() telemetry.Priority { return priorityOf(h.client.r.Header) }

// enter takes a pipeline slot.
func (h *capacity) enter() error {
	reason := h.server.admission.enter(h.priority())
	if reason != telemetry.NotShed {
		return h.shed(reason)
	}
	h.admitted = true
	return nil
}

// takeShare charges the pipeline slot to the share of the account, which is now known. As at admission, a few
// interactive requests may wait for a slot to become free.
func (h *capacity) takeShare(account string) error {
	s := h.server
	got := s.places.take(account, 1)
	if got != granted && h.priority() == telemetry.Interactive && s.waiting.take(account, 1) == granted {
		got = s.awaitShare(h.client.r.Context(), account)
		s.waiting.giveBack(account, 1)
	}
	if got != granted {
		return h.shed(telemetry.AccountConcurrency)
	}
	h.account = account
	return nil
}

// awaitShare tries for queueWait to get a slot.
func (s *Server) awaitShare(ctx context.Context, account string) taken {
	const looks = 8
	every := time.NewTicker(queueWait / looks)
	defer every.Stop()
	for range looks {
		select {
		case <-every.C:
		case <-ctx.Done():
			return ownShare
		}
		if s.places.take(account, 1) == granted {
			return granted
		}
	}
	return ownShare
}

// enterStream asks for admission again, now that the answer is known to be a stream.
func (h *capacity) enterStream() error {
	reason := h.server.admission.takesStream(h.priority(), h.server.places.below(h.account))
	if reason != telemetry.NotShed {
		return h.shed(reason)
	}
	return nil
}

// leave frees a pipeline slot.
func (s *Server) leave(account string, p telemetry.Priority) {
	if account != "" {
		s.places.giveBack(account, 1)
	}
	s.admission.leave(p)
}

// shed counts and returns the refusal of a request.
func (h *capacity) shed(reason telemetry.Reason) error {
	h.server.metrics.Shed(reason, h.priority())
	return refusal(reason, h.priority())
}

// reserve reserves n bytes more for request bodies, or returns the refusal.
func (h *capacity) reserve(n int64) error {
	switch h.server.bodiesInFlight.take(h.account, n) {
	case ownShare:
		return h.shed(telemetry.AccountBodies)
	case nothing:
		return h.shed(telemetry.Bodies)
	}
	h.reserved += n
	return nil
}

// giveBack releases n bytes of request bodies.
func (h *capacity) giveBack(n int64) {
	h.reserved -= n
	if n != 0 {
		h.server.bodiesInFlight.giveBack(h.account, n)
		h.server.letGo(n)
	}
}

// letGo counts n released bytes and starts a garbage collection after mostGarbage bytes. Otherwise the runtime would
// wait until the heap has doubled, and bodies that arrive at once may exceed the memory.
func (s *Server) letGo(n int64) {
	if n > keepBody && s.garbage.Add(n) > mostGarbage {
		s.garbage.Store(0)
		go runtime.GC()
	}
}

// arrive reserves memory for the n bytes of the current answer that have arrived and are not sent yet. It waits if no
// memory is free.
func (h *capacity) arrive(n int64) error {
	for !h.overdrawn && h.answer-h.kept < n {
		if err := h.awaitAnswer(min(max(n, leastStep), mostStep)); err != nil {
			return err
		}
	}
	return nil
}

// keep reserves memory for the n bytes of state that stay until the answer has ended. It waits if no memory is free.
func (h *capacity) keep(n int64) error {
	for !h.overkept && h.kept < n {
		before := h.answer
		if err := h.awaitAnswer(min(max(n-h.kept, keptStep), mostStep)); err != nil {
			return err
		}
		h.kept += h.answer - before
		h.overkept = h.overdrawn
	}
	return nil
}

// keepText reserves memory for at least n bytes of text that stay until the answer has ended. It returns how many bytes
// it reserved; 0 if no memory is free.
func (h *capacity) keepText(n int) int {
	n = max(n, textStep)
	if !h.takeAnswer(textCopies * int64(n)) {
		return 0
	}
	h.kept += textCopies * int64(n)
	return n
}

// awaitAnswer reserves n bytes more for the current answer. It waits if no memory is free.
func (h *capacity) awaitAnswer(n int64) error {
	if h.overdrawn || h.takeAnswer(n) {
		return nil
	}
	pause := arrivalLook
	look, late := time.NewTimer(pause), time.NewTimer(arrivalWait)
	defer look.Stop()
	defer late.Stop()
	for waiting := true; waiting; {
		select {
		case <-look.C:
			waiting = !h.client.gone()
			pause = min(2*pause, mostLook)
			look.Reset(pause)
		case <-h.client.r.Context().Done():
			waiting = false
		case <-late.C:
			waiting = false
		case <-h.server.stopping.Done():
			waiting = false
		case h.server.overdraft <- struct{}{}:
			h.overdrawn = true
			return nil
		}
		if h.takeAnswer(n) {
			return nil
		}
	}
	h.server.metrics.Shed(telemetry.AccountBodies, h.priority())
	return provider.GivenUp(&llm.Error{
		Code: llm.CodeOverloaded, RetryAfter: interactiveRetry,
		Message: "The answer is too large for the gateway's free memory. Try again when some of this account's " +
			"requests have ended.",
	})
}

func (h *capacity) takeAnswer(n int64) bool {
	if h.server.answersInFlight.take(h.account, n) != granted {
		return false
	}
	h.answer += n
	return true
}

// passedOn releases the memory of the parts that have been sent.
func (h *capacity) passedOn() {
	if h.answer > h.kept {
		h.server.answersInFlight.giveBack(h.account, h.answer-h.kept)
		h.answer = h.kept
	}
	if h.overdrawn && !h.overkept {
		<-h.server.overdraft
		h.overdrawn = false
	}
}

// endAnswer releases all memory of the current answer.
func (h *capacity) endAnswer() {
	h.kept, h.overkept = 0, false
	h.passedOn()
}

// inTurn runs a step that processes size bytes. The step waits for its turn if size is large or other steps run. It
// does not begin if the client has left. The step itself must not block.
func (h *capacity) inTurn(size int, work func() error) error {
	if t := h.server.processor.begin(size); t != nil {
		return h.awaitTurn(t, work)
	}
	defer h.server.processor.leave()
	return work()
}

// turnFor runs work on size bytes, and waits for a turn if size is large.
func (h *capacity) turnFor(size int64, work func() error) error {
	if size < largeRead {
		return work()
	}
	return h.awaitTurn(h.server.processor.large, work)
}

func (h *capacity) awaitTurn(t *turns, work func() error) error {
	ctx := h.client.r.Context()
	if !h.takeTurn(ctx, t) {
		if ctx.Err() != nil {
			return errGone
		}
		return h.shed(telemetry.CPU)
	}
	defer t.end()
	if ctx.Err() != nil {
		return errGone
	}
	return work()
}

func (h *capacity) takeTurn(ctx context.Context, t *turns) bool {
	took := t.take(ctx, h.account, h.begun)
	h.begun = h.begun || took
	return took
}

// step runs a step of size bytes that must be done in any case: in a turn if size is large or other steps run, and
// without one after the longest wait.
func (h *capacity) step(size int, work func()) {
	switch t := h.server.processor.begin(size); {
	case t == nil:
		defer h.server.processor.leave()
	case h.takeTurn(context.WithoutCancel(h.client.r.Context()), t):
		defer t.end()
	}
	work()
}
