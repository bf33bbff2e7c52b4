package capacity

import (
	"io"

	"weir/internal/dialect"
)

// An answer takes memory while it arrives (see Held). The parts that must be complete before they can be sent on, a
// whole reply or one event of a stream, count until the client has received them. Announced lengths do not count.
const (
	FreeAnswer   = 32 << 10 // bytes of an answer that do not count: usual answers are shorter
	FreeEvent    = 16 << 10 // bytes of an event that do not count
	AnswerCopies = 2        // an answer is in memory twice: as received and as sent
	EventCopies  = 4        // an event likewise, in buffers that grow to twice its size
	eventRead    = 64 << 10 // bytes of a stream read at a time
)

// Arriving is the body of a provider's answer. It reserves memory as it is read.
type Arriving struct {
	io.ReadCloser
	Held   *Held
	Events dialect.Frames // events of a stream; nil for a whole answer
	read   int64          // bytes read so far
}

// Read implements io.Reader. It waits while no memory is free for what has arrived, and then returns a
// *provider.Failure.
func (a *Arriving) Read(p []byte) (int, error) {
	size, free, copies := a.read, int64(FreeAnswer), int64(AnswerCopies)
	if a.Events != nil { // the last event may be incomplete
		size, free, copies = int64(len(a.Events.Rest())), FreeEvent, EventCopies
		p = p[:min(len(p), eventRead)] // so that little of the next event is read
	}
	if size > free {
		if err := a.Held.Arrive(copies * size); err != nil {
			return 0, err
		}
	}
	n, err := a.ReadCloser.Read(p)
	a.read += int64(n)
	return n, err
}
