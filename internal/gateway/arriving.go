package gateway

import (
	"io"
	"time"

	"weir/internal/dialect"
)

// What of an answer has to be there as a whole before any of it can go on, a reply or one
// event of a stream, is counted as it arrives, until its client has taken it; what a stream
// keeps, until it has ended. What a provider only announces takes nothing. Where the account
// has its share, or there is no more for anybody, the answer is not read on until others have
// ended: its provider waits. So that answers which all wait for one another come to an end,
// one at a time of all may go on regardless (Server.overdraft). After arrivalWait, or where
// nobody waits for it, an answer is given up, and settled like any other whose usage did not
// come.
const (
	freeArrival   = 32 << 10 // bytes of an answer that are not counted: usual ones are shorter
	freeEvent     = 16 << 10 // likewise of an event
	freeKept      = 4 << 10  // likewise of what a stream keeps
	leastStep     = 64 << 10 // bytes that are counted at a time, at least and
	mostStep      = 1 << 20  // at most: as many as there are
	keptStep      = 16 << 10 // likewise of what a stream keeps, at least
	arrivalCopies = 2        // an answer is there as it came, and as it goes out
	eventCopies   = 4        // an event, whose buffers grow to twice of it, likewise
	textCopies    = 2        // text that is kept, whose buffer grows to twice of it
	textStep      = 8 << 10  // bytes of text that are counted at a time, at least
	usualPiece    = 16 << 10 // bytes that go out at once at most, as a rule
	usualEvents   = 32       // events that these have at most, likewise
	eventRead     = 64 << 10 // bytes of a stream that are read at a time
	arrivalShare  = 2        // all answers together get this part of what bodies of requests do
	arrivalWait   = 10 * time.Second
	arrivalLook   = 25 * time.Millisecond  // until it is looked for memory again, first and
	mostLook      = 400 * time.Millisecond // in the end: thousands may wait
)

// arriving is the body of a provider's answer, counted while it is read.
type arriving struct {
	io.ReadCloser
	held   *capacity
	events dialect.Frames // of a stream; nil for a whole answer
	read   int64          // bytes so far
}

func (a *arriving) Read(p []byte) (int, error) {
	size, free, copies := a.read, int64(freeArrival), int64(arrivalCopies)
	if a.events != nil { // of which the last one may not be there as a whole
		size, free, copies = int64(len(a.events.Rest())), freeEvent, eventCopies
		p = p[:min(len(p), eventRead)] // little of the next event comes along
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
