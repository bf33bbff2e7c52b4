package gateway

import (
	"io"
	"time"
)

// What of an answer has to be there as a whole before any of it can go on, a reply or one
// event of a stream, is counted as it arrives, until its client has taken it.
// What a provider only announces takes nothing. Where the account has its share, or there
// is no more for anybody, the answer is not read on until others have ended: its provider
// waits. So that answers which all wait for one another come to an end, one at a time of
// all may go on regardless (Server.overdraft). After arrivalWait, or where nobody waits for
// it, an answer is given up, and settled like any other whose usage did not come.
const (
	freeArrival   = 32 << 10  // bytes of an answer that are not counted: usual ones are shorter
	freeEvent     = 256 << 10 // likewise of a stream since one of its events went out
	leastStep     = 64 << 10  // bytes that are counted at a time, at least and
	mostStep      = 1 << 20   // at most: as many as there are
	arrivalCopies = 2         // an answer is there as it came, and as it goes out
	eventCopies   = 4         // an event, whose buffers grow to twice of it, likewise
	eventRead     = 64 << 10  // bytes of a stream that are read at a time
	arrivalShare  = 2         // all answers together get this part of what bodies of requests do
	arrivalWait   = 10 * time.Second
	arrivalLook   = 25 * time.Millisecond
)

// arriving is the body of a provider's answer, counted while it is read.
type arriving struct {
	io.ReadCloser
	held    *capacity
	copies  int64 // arrivalCopies or eventCopies
	seen    int64 // bytes since the last event of a stream
	counted int64 // bytes
}

func (a *arriving) Read(p []byte) (int, error) {
	free := int64(freeArrival)
	if a.copies == eventCopies {
		free, p = freeEvent, p[:min(len(p), eventRead)] // little of the next event comes along
	}
	for a.seen > free && a.copies*a.seen > a.counted {
		step := min(max(a.copies*a.seen, leastStep), mostStep)
		if err := a.held.awaitAnswer(step); err != nil {
			return 0, err
		}
		a.counted += step
	}
	n, err := a.ReadCloser.Read(p)
	a.seen += int64(n)
	return n, err
}

// taken says that the event which arrived has been passed on, and its buffers were let go.
func (a *arriving) taken() {
	a.held.endAnswer()
	a.seen, a.counted = 0, 0
}
