package capacity

import (
	"time"

	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/telemetry"
)

// An answer takes memory while it arrives, and the state that a stream accumulates takes memory until it ends. If the
// account has used its share, or no memory is free, the answer is not read further until other requests end, so its
// provider waits. To avoid a deadlock between answers that all wait, one answer at a time may exceed its share
// (Node.overdraft). After answerWait, or when its client has left, the answer is aborted, and settled like any other
// answer without usage.
const (
	leastStep  = 64 << 10 // bytes reserved at a time, at least
	mostStep   = 1 << 20  // bytes reserved at a time, at most
	keptStep   = 16 << 10 // bytes of a stream's state reserved at a time, at least
	textCopies = 2        // stored text, in a buffer that grows to twice its size
	textStep   = 8 << 10  // bytes of text reserved at a time, at least
	answerWait = 10 * time.Second
	firstLook  = 25 * time.Millisecond  // first pause between two attempts to reserve memory
	mostLook   = 400 * time.Millisecond // longest pause: thousands of requests may wait
)

// Arrive reserves memory for the n bytes of the current answer that have arrived and are not sent yet. It waits if no
// memory is free.
func (h *Held) Arrive(n int64) error {
	for !h.overdrawn && h.answer-h.kept < n {
		if err := h.AwaitAnswer(min(max(n, leastStep), mostStep)); err != nil {
			return err
		}
	}
	return nil
}

// Keep reserves memory for the n bytes of state that stay until the answer has ended. It waits if no memory is free.
func (h *Held) Keep(n int64) error {
	for !h.overkept && h.kept < n {
		before := h.answer
		if err := h.AwaitAnswer(min(max(n-h.kept, keptStep), mostStep)); err != nil {
			return err
		}
		h.kept += h.answer - before
		h.overkept = h.overdrawn
	}
	return nil
}

// KeepText reserves memory for at least n bytes of text that stay until the answer has ended. It returns how many bytes
// it reserved; 0 if no memory is free.
func (h *Held) KeepText(n int) int {
	n = max(n, textStep)
	if !h.TryAnswer(textCopies * int64(n)) {
		return 0
	}
	h.kept += textCopies * int64(n)
	return n
}

// AwaitAnswer reserves n bytes more for the current answer. It waits if no memory is free.
func (h *Held) AwaitAnswer(n int64) error {
	if h.overdrawn || h.TryAnswer(n) {
		return nil
	}
	pause := firstLook
	look, late := time.NewTimer(pause), time.NewTimer(answerWait)
	defer look.Stop()
	defer late.Stop()
	for waiting := true; waiting; {
		select {
		case <-look.C:
			waiting = !h.client.Gone()
			pause = min(2*pause, mostLook)
			look.Reset(pause)
		case <-h.client.Request.Context().Done():
			waiting = false
		case <-late.C:
			waiting = false
		case <-h.node.options.Stopping.Done():
			waiting = false
		case h.node.overdraft <- struct{}{}:
			h.overdrawn = true
			return nil
		}
		if h.TryAnswer(n) {
			return nil
		}
	}
	h.node.options.Metrics.Shed(telemetry.AccountBodies, h.Priority())
	return provider.GivenUp(&llm.Error{
		Code: llm.CodeOverloaded, RetryAfter: interactiveRetry,
		Message: "The answer is too large for the gateway's free memory. Try again when some of this account's " +
			"requests have ended.",
	})
}

// TryAnswer reserves n bytes more for the current answer. It reports whether they were free.
func (h *Held) TryAnswer(n int64) bool {
	if h.node.answers.take(h.account, n) != granted {
		return false
	}
	h.answer += n
	return true
}

// Sent releases the memory of the parts that have been sent.
func (h *Held) Sent() {
	if h.answer > h.kept {
		h.node.answers.giveBack(h.account, h.answer-h.kept)
		h.answer = h.kept
	}
	if h.overdrawn && !h.overkept {
		<-h.node.overdraft
		h.overdrawn = false
	}
}

// EndAnswer releases all memory of the current answer.
func (h *Held) EndAnswer() {
	h.kept, h.overkept = 0, false
	h.Sent()
}
