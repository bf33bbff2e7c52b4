package gateway

import (
	"io"
	"time"

	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/telemetry"
)

// What of an answer has to be there as a whole before any of it can go on, a reply or one
// event of a stream, is counted as it arrives, until its client has taken it.
// What a provider only announces takes nothing. Where the account has its share, or there
// is no more for anybody, the answer is not read on until others have ended: its provider
// waits. So that answers which all wait for one another come to an end, one at a time of
// all may go on regardless (Server.overdraft). After arrivalWait, or where nobody waits for
// it, an answer is given up, and settled like any other whose usage did not come.
const (
	freeArrival   = 256 << 10 // bytes that are not counted: usual answers and events are shorter
	arrivalStep   = 1 << 20   // bytes that are counted at a time
	arrivalCopies = 2         // an answer is there as it came, and as it goes out
	eventCopies   = 4         // an event, whose buffers grow to twice of it, likewise
	eventRead     = 64 << 10  // bytes of a stream that are read at a time
	arrivalShare  = 2         // all answers together get this part of what bodies of requests do
	arrivalWait   = 10 * time.Second
	arrivalLook   = 25 * time.Millisecond
)

// arriving is the body of a provider's answer, counted for a call while it is read.
type arriving struct {
	io.ReadCloser
	call    *call
	copies  int64 // arrivalCopies or eventCopies
	seen    int64 // bytes since the last event of a stream
	counted int64 // bytes
}

func (a *arriving) Read(p []byte) (int, error) {
	for a.seen > freeArrival && a.copies*a.seen > a.counted {
		if err := a.call.awaitArrival(arrivalStep); err != nil {
			return 0, err
		}
		a.counted += arrivalStep
	}
	if a.copies == eventCopies {
		p = p[:min(len(p), eventRead)] // little of the next event comes along
	}
	n, err := a.ReadCloser.Read(p)
	a.seen += int64(n)
	return n, err
}

// taken says that the event which arrived has been passed on, and its buffers were let go.
func (a *arriving) taken() {
	a.call.endArrival()
	a.seen, a.counted = 0, 0
}

// awaitArrival counts n bytes more of the answer under way, and waits for them.
func (c *call) awaitArrival(n int64) error {
	if c.overdrawn || c.takeArrival(n) {
		return nil
	}
	every, late := time.NewTicker(arrivalLook), time.NewTimer(arrivalWait)
	defer every.Stop()
	defer late.Stop()
	for waiting := true; waiting; {
		select {
		case <-every.C:
			waiting = !c.clientGone()
		case <-late.C:
			waiting = false
		case <-c.server.stopping.Done():
			waiting = false
		case c.server.overdraft <- struct{}{}:
			c.overdrawn = true
			return nil
		}
		if c.takeArrival(n) {
			return nil
		}
	}
	c.server.metrics.Shed(telemetry.AccountBodies, priorityOf(c.r.Header))
	return provider.GivenUp(&llm.Error{
		Code: llm.CodeOverloaded, RetryAfter: interactiveRetry,
		Message: "The answer is too large for the memory that is free here. Try again when some of this account's " +
			"requests have ended.",
	})
}

func (c *call) takeArrival(n int64) bool {
	if c.server.answersInFlight.take(c.account, n) != granted {
		return false
	}
	c.arrived += n
	return true
}

// endArrival gives back what the answer under way has.
func (c *call) endArrival() {
	if c.arrived > 0 {
		c.server.answersInFlight.giveBack(c.account, c.arrived)
		c.arrived = 0
	}
	if c.overdrawn {
		<-c.server.overdraft
		c.overdrawn = false
	}
}
