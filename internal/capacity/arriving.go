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

// ArriveWhole reserves memory for a whole answer before more of it is read. The given number of bytes have been read.
// It waits while no memory is free, and then returns a *provider.Failure.
func (h *Held) ArriveWhole(read int64) error {
	if read <= FreeAnswer {
		return nil
	}
	return h.Arrive(AnswerCopies * read)
}

// Arriving is the body of a streamed answer. It reserves memory as it is read.
type Arriving struct {
	io.ReadCloser
	Held   *Held
	Events dialect.Frames // reads the body; its last event may be incomplete
}

// Read implements io.Reader. It waits while no memory is free for what has arrived, and then returns a
// *provider.Failure.
func (a *Arriving) Read(p []byte) (int, error) {
	if size := int64(len(a.Events.Rest())); size > FreeEvent {
		if err := a.Held.Arrive(EventCopies * size); err != nil {
			return 0, err
		}
	}
	return a.ReadCloser.Read(p[:min(len(p), eventRead)]) // so that little of the next event is read
}
