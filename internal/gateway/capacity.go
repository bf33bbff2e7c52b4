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

// client is whoever sent a request, as far as it is still there.
type client struct {
	r           *http.Request
	writeFailed atomic.Bool // a write found that it takes nothing any more
}

// gone says whether the client has left: its connection broke, or it takes nothing any more.
func (c *client) gone() bool {
	ctx := c.r.Context()
	return c.writeFailed.Load() || ctx.Err() != nil && !errors.Is(context.Cause(ctx), errStopping)
}

// left is errGone once the client of a large body has: what would follow is not begun.
func (c *client) left(size int) error {
	if size >= largeBody && c.r.Context().Err() != nil {
		return errGone
	}
	return nil
}

// capacity is what a request holds of the gateway's places, memory and processors.
type capacity struct {
	server   *Server
	client   *client
	account  string // whose share it is of; empty before it has one
	admitted bool   // it has a place, which is to be left
	begun    bool   // it has had a turn
	reserved int64  // bytes of bodies
	answer   int64  // bytes of the answer under way
	kept     int64  // of these, what stays until it has ended
	// overdrawn says that it has the server's overdraft, overkept that what stays needs it.
	overdrawn, overkept bool
}

func (h *capacity) priority() telemetry.Priority { return priorityOf(h.client.r.Header) }

// enter takes a place in the pipeline.
func (h *capacity) enter() error {
	reason := h.server.admission.enter(h.priority())
	if reason != telemetry.NotShed {
		return h.shed(reason)
	}
	h.admitted = true
	return nil
}

// takeShare takes the place for good, of its account's share of them, now that it is known
// whose it is. As at admission, a few interactive requests may wait for one that is left.
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

// awaitShare asks again for a place, for queueWait.
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

// enterStream asks again, once it is known that the answer is a stream.
func (h *capacity) enterStream() error {
	reason := h.server.admission.takesStream(h.priority(), h.server.places.below(h.account))
	if reason != telemetry.NotShed {
		return h.shed(reason)
	}
	return nil
}

// leave gives the place back.
func (s *Server) leave(account string, p telemetry.Priority) {
	if account != "" {
		s.places.giveBack(account, 1)
	}
	s.admission.leave(p)
}

// shed is the refusal of a request for which there is no room.
func (h *capacity) shed(reason telemetry.Reason) error {
	h.server.metrics.Shed(reason, h.priority())
	return refusal(reason, h.priority())
}

// reserve counts n bytes more among the bodies in flight, or says why not.
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

// giveBack counts n bytes less.
func (h *capacity) giveBack(n int64) {
	h.reserved -= n
	if n != 0 {
		h.server.bodiesInFlight.giveBack(h.account, n)
		h.server.letGo(n)
	}
}

// letGo counts n bytes that nothing needs any more, and has them collected once there are many.
// The runtime would wait for as much again as lives, and what comes at once can be all there is.
func (s *Server) letGo(n int64) {
	if n > keepBody && s.garbage.Add(n) > mostGarbage {
		s.garbage.Store(0)
		go runtime.GC()
	}
}

// arrive counts what of the answer under way came and has not gone on, n bytes by now, and
// waits for memory.
func (h *capacity) arrive(n int64) error {
	for !h.overdrawn && h.answer-h.kept < n {
		if err := h.awaitAnswer(min(max(n, leastStep), mostStep)); err != nil {
			return err
		}
	}
	return nil
}

// keep counts likewise what stays until the answer has ended, n bytes by now.
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

// keepText counts n bytes more of text, at least, that stays until the answer has ended, and
// says how many they are: 0 where none are free.
func (h *capacity) keepText(n int) int {
	n = max(n, textStep)
	if !h.takeAnswer(textCopies * int64(n)) {
		return 0
	}
	h.kept += textCopies * int64(n)
	return n
}

// awaitAnswer counts n bytes more of the answer under way, and waits for them.
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
		Message: "The answer is too large for the memory that is free here. Try again when some of this account's " +
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

// passedOn gives back what arrived, once it has gone on and its buffers were let go.
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

// endAnswer gives back all that the answer under way has.
func (h *capacity) endAnswer() {
	h.kept, h.overkept = 0, false
	h.passedOn()
}

// inTurn does a step of so many bytes of work, in a turn where they are many or others are at
// work. What a client has left behind is not begun. The step waits for nothing.
func (h *capacity) inTurn(size int, work func() error) error {
	if t := h.server.processor.begin(size); t != nil {
		return h.awaitTurn(t, work)
	}
	defer h.server.processor.leave()
	return work()
}

// turnFor does work on so many bytes, in a turn where these are many.
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

// step does so many bytes of work that is to be done whatever comes: in a turn where they are
// many or others are at work, and without one once it has waited for long.
func (h *capacity) step(size int, work func()) {
	switch t := h.server.processor.begin(size); {
	case t == nil:
		defer h.server.processor.leave()
	case h.takeTurn(context.WithoutCancel(h.client.r.Context()), t):
		defer t.end()
	}
	work()
}
