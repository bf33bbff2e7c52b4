package gateway

import (
	"io"
	"time"

	"weir/internal/dialect"
)

// An answer takes memory while it arrives. The parts that must be complete before they can be sent on, a whole reply or
// one event of a stream, count until the client has received them. The state that a stream accumulates counts until the
// stream ends. Announced lengths do not count.
//
// If the account has used its share, or no memory is free, the answer is not read further until other requests end, so
// its provider waits. To avoid a deadlock between answers that all wait, one answer at a time may exceed its share
// (Server.overdraft). After arrivalWait, or when its client has left, the answer is aborted, and settled like any other
// answer without usage.
const (
	freeArrival   = 32 << 10 // bytes of an answer that do not count: usual answers are shorter
	freeEvent     = 16 << 10 // bytes of an event that do not count
	freeKept      = 4 << 10  // bytes of a stream's state that do not count
	leastStep     = 64 << 10 // bytes reserved at a time, at least
	mostStep      = 1 << 20  // bytes reserved at a time, at most
	keptStep      = 16 << 10 // bytes of a stream's state reserved at a time, at least
	arrivalCopies = 2        // an answer is in memory twice: as received and as sent
	eventCopies   = 4        // an event likewise, in buffers that grow to twice its size
	textCopies    = 2        // stored text, in a buffer that grows to twice its size
	textStep      = 8 << 10  // bytes of text reserved at a time, at least
	usualPiece    = 16 << 10 // bytes sent at once, at most as a rule
	usualEvents   = 32       // events in one such piece, at most as a rule
	eventRead     = 64 << 10 // bytes of a stream read at a time
	arrivalShare  = 2        // all answers together get 1/arrivalShare of the memory of request bodies
	arrivalWait   = 10 * time.Second
	arrivalLook   = 25 * time.Millisecond  // first pause between two attempts to reserve memory
	mostLook      = 400 * time.Millisecond // longest pause: thousands of requests may wait
)

// arriving is the body of a provider's answer. It reserves memory as it is read.
type arriving struct {
	io.ReadCloser
	held   *capacity
	events dialect.Frames // events of a stream; nil for a whole answer
	read   int64          // bytes read so far
}

func (a *arriving) Read(p []byte) (int, error) {
	size, free, copies := a.read, int64(freeArrival), int64(arrivalCopies)
	if a.events != nil { // the last event may be incomplete
		size, free, copies = int64(len(a.events.Rest())), freeEvent, eventCopies
		p = p[:min(len(p), eventRead)] // so that little of the next event is read
	}
	if size > free {
		if err := a.held.arrive(copies * size); err != nil {
			return 0, err
		}
	}
	n, err := a.ReadCloser.Read(p)
	a.read += int64(n)
	return n, err
}
