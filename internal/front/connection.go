package front

import (
	"net"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// connection is one on the wire.
type connection struct {
	net.Conn
	of            *Server
	idleSince     atomic.Int64 // age of the server, in nanoseconds; 0 with a request, closedIdle behind it
	isHTTP2       atomic.Bool
	bodyRead      atomic.Int64 // its age when some of a body was last read, of HTTP/2
	read, written deadline
	watched       watched
}

// closedIdle is the idleSince of a connection that was closed because it was idle: no request begins on it.
const closedIdle = -1

// setBusy says that there is a request, and reports false where the connection was closed just now.
func (c *connection) setBusy() bool {
	for {
		since := c.idleSince.Load()
		if since == closedIdle {
			return false
		}
		if c.idleSince.CompareAndSwap(since, 0) {
			return true
		}
	}
}

// setIdle says that there is no request.
func (c *connection) setIdle() { c.idleSince.CompareAndSwap(0, int64(c.of.age())) }

// accept waits for a connection for which there is a place.
func (s *Server) accept(l net.Listener) (*connection, error) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: conn, of: s}
		c.tell(conn)
		c.setIdle()
		if s.add(c) || s.makePlaces() && s.add(c) {
			return c, nil
		}
		_ = conn.Close()
	}
}

func (s *Server) age() time.Duration { return max(1, time.Since(s.began)) }

func (s *Server) add(c *connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= s.o.Most {
		return false
	}
	s.open[c] = struct{}{}
	return true
}

// placesAtOnce is the part of all connections that is closed when a place is needed: whoever looks
// for the longest idle looks at all.
const placesAtOnce = 64

// makePlaces closes connections that are the longest idle, and reports whether there were any.
func (s *Server) makePlaces() bool {
	s.mu.Lock()
	var idle []int64
	for c := range s.open {
		if since := c.idleSince.Load(); since > 0 {
			idle = append(idle, since)
		}
	}
	s.mu.Unlock()
	if len(idle) == 0 {
		return false
	}
	slices.Sort(idle)
	last := idle[min(s.o.Most/placesAtOnce, len(idle)-1)]
	return s.closeThose(func(_ *connection, since time.Duration) bool { return int64(since) <= last })
}

// closeThose closes idle connections of which this holds, for the age since which they are, and reports
// whether there were any.
func (s *Server) closeThose(holds func(c *connection, since time.Duration) bool) bool {
	s.mu.Lock()
	var those []*connection
	for c := range s.open {
		since := c.idleSince.Load()
		if since > 0 && holds(c, time.Duration(since)) && c.idleSince.CompareAndSwap(since, closedIdle) {
			delete(s.open, c)
			those = append(those, c)
		}
	}
	s.mu.Unlock()
	for _, c := range those {
		_ = c.Conn.Close()
	}
	return len(those) > 0
}

// Close is net.Conn's.
func (c *connection) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// Write is net.Conn's. Of HTTP/2 it gives up the processor, on which others may wait: such a connection
// may never run out of what is to be written.
func (c *connection) Write(p []byte) (int, error) {
	if c.isHTTP2.Load() {
		runtime.Gosched()
	}
	return c.Conn.Write(p)
}
