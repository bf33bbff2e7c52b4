package httpserver

import (
	"net"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"weir/internal/rawio"
)

// connection is a client's connection.
type connection struct {
	net.Conn
	of            *Server
	since         atomic.Int64  // start of the wait, as the server's age in ns; 0 during a request; see closedWaiting
	waits         atomic.Int32  // a wait
	gaveWay       time.Duration // how long it had waited when it was closed for a new one
	isHTTP2       atomic.Bool
	bodyRead      atomic.Int64 // age of the server when a body was last read, for HTTP/2
	read, written deadline
	watched       watched
	readNow       uintptr // the socket during a read that does not wait; else 0
}

// closedWaiting is the value of since after a connection was closed during a wait, so that no request begins on it.
const closedWaiting = -1

// wait tells why a connection has no complete request. Such connections are closed to make room for new ones.
type wait int32

const (
	forRequest wait = iota // idle
	forHead                // a part of the head has arrived
	forEnd                 // the rest of a refused request is being discarded
	waits
)

// setWaiting begins a wait, and returns false if the connection has just been closed.
func (c *connection) setWaiting(w wait) bool {
	c.waits.Store(int32(w))
	return c.setSince(int64(c.of.age()))
}

// setBusy begins a request, and returns false if the connection has just been closed.
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

// waiting returns the connection's wait.
func (c *connection) waiting() wait { return wait(c.waits.Load()) }

// accept waits for a connection within the maximum number.
func (s *Server) accept(l net.Listener) (*connection, error) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: rawio.Socket(conn), of: s}
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
	// 1/placesAtOnce of all connections are closed at once to make room, because finding the longest wait requires a
	// scan of all connections.
	placesAtOnce = 64
	// leastWait is the shortest wait after which a connection may be closed for a new one, since its client or the
	// gateway may not have had time to act. Until then, new connections wait in the listener's queue, which is much
	// larger.
	leastWait = 100 * time.Millisecond
	waitLook  = 5 * time.Millisecond
	// If connections were closed after waits shorter than briefWait, all answers close their connections for crowdTime:
	// a client that is told so does not send a request on a connection that is being closed.
	briefWait, crowdTime = 2 * time.Second, 10 * time.Second
)

// makePlaces closes the connections that have waited longest for a complete request, or waits for one to reach
// leastWait. It returns false if there are none. It logs the shortage.
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

// waited returns how long a waiting connection has waited.
func (c *connection) waited() time.Duration { return c.of.age() - time.Duration(c.since.Load()) }

func anyone(*connection) bool { return true }

// isCrowded reports whether connections are so scarce that none may be kept open for another request.
func (s *Server) isCrowded() bool {
	until := s.crowded.Load()
	return until > 0 && int64(s.age()) < until
}

// sinces returns the starts of the waits of all matching connections.
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

// closeOldest closes up to n of the matching connections, those with the longest waits.
func (s *Server) closeOldest(n int, such func(*connection) bool) []*connection {
	all := s.sinces(such)
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	last := all[min(n, len(all))-1]
	return s.closeThose(func(c *connection, since time.Duration) bool { return int64(since) <= last && such(c) })
}

// closeThose closes the waiting connections for which holds returns true, and returns them. holds gets the start of the
// wait.
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

// shortage counts the connections that were closed to make room since the last log line. Only the accepting goroutine
// uses it.
type shortage struct {
	closed  [waits]int
	refused int // new connections that were refused
	told    time.Duration
}

// tellEvery is the shortest time between two log lines about a shortage.
const tellEvery = time.Minute

// tell counts connections that were closed, or a refused new one if there were none.
func (s *shortage) tell(of *Server, closed []*connection) {
	for _, c := range closed {
		s.closed[c.waiting()]++
	}
	if len(closed) == 0 {
		s.refused++
	}
	if now := of.age(); s.told == 0 || now-s.told >= tellEvery {
		of.o.Log.Warn("connections were closed to make room for new ones", "idle", s.closed[forRequest],
			"unfinished_heads", s.closed[forHead], "refused_requests", s.closed[forEnd],
			"new", s.refused, "most", of.o.Most)
		*s = shortage{told: now}
	}
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// Read implements net.Conn. It may be one that does not wait.
func (c *connection) Read(p []byte) (int, error) {
	if c.readNow != 0 {
		return rawio.Read(c.readNow, p)
	}
	return c.Conn.Read(p)
}

// Write implements net.Conn. For HTTP/2 it yields the processor, because such a connection may always have more to
// write.
func (c *connection) Write(p []byte) (int, error) {
	if c.isHTTP2.Load() {
		runtime.Gosched()
	}
	return c.Conn.Write(p)
}
