package sse

// Splitter splits a stream into events that is written to it piece by piece.
type Splitter struct{ r Reader }

// Add adds a piece of the stream.
func (s *Splitter) Add(p []byte) {
	s.r.discard(s.r.start)
	if n := s.r.end + len(p); n > len(s.r.buf) {
		grown := make([]byte, max(n, 2*len(s.r.buf), firstBuffer))
		copy(grown, s.r.buf[:s.r.end])
		s.r.buf = grown
	}
	s.r.end += copy(s.r.buf[s.r.end:], p)
}

// Next returns the next event that has data or a name, and false if none is whole. The event is valid until Add.
func (s *Splitter) Next() (Event, bool) {
	for {
		end := s.r.blockEnd()
		if end == 0 {
			return Event{}, false
		}
		ev, ok := s.r.parse(s.r.buf[s.r.block:end])
		s.r.block, s.r.line, s.r.seen, s.r.start = end, end, end, end
		if ok {
			return ev, true
		}
	}
}
