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
	since         atomic.Int64  // age of the server when the wait began, in nanoseconds; 0 with a request, closedWaiting behind it
	waits         atomic.Int32  // a wait: for what
	gaveWay       time.Duration // for how long it had waited when it was closed for that
	isHTTP2       atomic.Bool
	bodyRead      atomic.Int64 // its age when some of a body was last read, of HTTP/2
	read, written deadline
	watched       watched
}

// closedWaiting is the since of a connection that was closed while it waited: no request begins on it.
const closedWaiting = -1

// wait says for what a connection waits that has no complete request. Such a connection gives way to new ones.
type wait int32

const (
	forRequest wait = iota // idle
	forHead                // some of the head has come
	forEnd                 // the rest of a request that was refused is discarded
	waits
)

// setWaiting begins a wait, and reports false where the connection was closed just now.
func (c *connection) setWaiting(w wait) bool {
	c.waits.Store(int32(w))
	return c.setSince(int64(c.of.age()))
}

// setBusy says that there is a request, and reports false where the connection was closed just now.
func (c *connection) setBusy() bool { return c.setSince(0) }

func (c *connection) setSince(to int64) bool {
	for {
		since := c.since.Load()
		if since == closedWaiting {
			return false
		}
		if c.since.CompareAndSwap(since, to) {
			return true
		}
	}
}

// waiting is what a connection waits for.
func (c *connection) waiting() wait { return wait(c.waits.Load()) }

// accept waits for a connection for which there is a place.
func (s *Server) accept(l net.Listener) (*connection, error) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: conn, of: s}
		c.tell(conn)
		c.setWaiting(forRequest)
		added := s.add(c)
		for !added && s.makePlaces() {
			added = s.add(c)
		}
		if added {
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

const (
	// placesAtOnce is the part of all connections that is closed when a place is needed: whoever looks
	// for the one that has waited longest looks at all.
	placesAtOnce = 64
	// leastWait is for how long a connection waits before it gives way: its client, or the gateway, may not have got
	// to it yet. New ones wait that long in the listener's queue, where they come in great numbers.
	leastWait = 100 * time.Millisecond
	waitLook  = 5 * time.Millisecond
	// Where connections gave way that had waited for less than briefWait, answers end their connection for crowdTime: a
	// client that is told so sends no request to a connection that is closed at that moment.
	briefWait, crowdTime = 2 * time.Second, 10 * time.Second
)

// makePlaces closes the connections that have waited longest for a complete request, or waits until one has waited
// for leastWait, and reports whether there is any. The log tells of it.
func (s *Server) makePlaces() bool {
	closed := s.closeOldest(1+s.o.Most/placesAtOnce, func(c *connection) bool { return c.waited() >= leastWait })
	if len(closed) == 0 && len(s.sinces(anyone)) > 0 {
		s.wait(waitLook)
		return true
	}
	if slices.ContainsFunc(closed, func(c *connection) bool { return c.gaveWay < briefWait }) {
		s.crowded.Store(int64(s.age() + crowdTime))
	}
	s.short.tell(s, closed)
	return len(closed) > 0
}

// waited says for how long the connection has waited; it does wait.
func (c *connection) waited() time.Duration { return c.of.age() - time.Duration(c.since.Load()) }

func anyone(*connection) bool { return true }

// isCrowded reports whether places are so short that no connection is to stay open for another request.
func (s *Server) isCrowded() bool {
	until := s.crowded.Load()
	return until > 0 && int64(s.age()) < until
}

// sinces says since when such connections wait that do.
func (s *Server) sinces(such func(*connection) bool) (all []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		if since := c.since.Load(); since > 0 && such(c) {
			all = append(all, since)
		}
	}
	return all
}

// closeOldest closes of such connections the up to n that have waited longest.
func (s *Server) closeOldest(n int, such func(*connection) bool) []*connection {
	all := s.sinces(such)
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	last := all[min(n, len(all))-1]
	return s.closeThose(func(c *connection, since time.Duration) bool { return int64(since) <= last && such(c) })
}

// closeThose closes connections that wait and of which this holds, for the age since which they do, and returns
// them.
func (s *Server) closeThose(holds func(c *connection, since time.Duration) bool) []*connection {
	s.mu.Lock()
	var those []*connection
	for c := range s.open {
		since := c.since.Load()
		if since > 0 && holds(c, time.Duration(since)) && c.since.CompareAndSwap(since, closedWaiting) {
			delete(s.open, c)
			c.gaveWay = s.age() - time.Duration(since)
			those = append(those, c)
		}
	}
	s.mu.Unlock()
	for _, c := range those {
		_ = c.Conn.Close()
	}
	return those
}

// shortage counts the connections that were closed to make places, since the log was last told of them. One
// goroutine accepts connections, and has it.
type shortage struct {
	closed  [waits]int
	refused int // new ones
	told    time.Duration
}

// tellEvery is how often the log is told of a shortage.
const tellEvery = time.Minute

// tell counts connections that were closed, or a new one where there were none.
func (s *shortage) tell(of *Server, closed []*connection) {
	for _, c := range closed {
		s.closed[c.waiting()]++
	}
	if len(closed) == 0 {
		s.refused++
	}
	if now := of.age(); s.told == 0 || now-s.told >= tellEvery {
		of.o.Log.Warn("connections were closed to make room for new ones", "idle", s.closed[forRequest],
			"unfinished_heads", s.closed[forHead], "refused_requests", s.closed[forEnd], "new", s.refused, "most", of.o.Most)
		*s = shortage{told: now}
	}
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
