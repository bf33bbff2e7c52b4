package httpserver

import (
	"net"
	"sync"
	"time"
)

// lookEvery is how often expired deadlines are searched. A timer for each read and write would cost more than the reads
// and writes themselves.
const lookEvery = 250 * time.Millisecond

// deadline is a deadline for a connection's reads or writes. It may expire up to lookEvery late.
type deadline struct {
	server *Server
	tell   func(time.Time) error // sets the socket's deadline

	mu     sync.Mutex
	at     time.Duration // age of the server; 0 for none
	passed bool          // the socket's deadline was set
}

func (d *deadline) setIn(within time.Duration) { d.set(d.server.age() + within) }

func (d *deadline) setAt(t time.Time) {
	if t.IsZero() {
		d.set(0)
		return
	}
	d.set(max(1, t.Sub(d.server.began)))
}

func (d *deadline) set(at time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = at
	if d.passed {
		d.passed = false
		_ = d.tell(time.Time{}) // an error means that the socket is closed
	}
}

// look interrupts reads or writes after their deadline.
func (d *deadline) look(now time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.at > 0 && d.at <= now && !d.passed {
		d.passed = true
		_ = d.tell(time.Unix(1, 0)) // in the past
	}
}

// tell connects the deadlines of a connection to its socket.
func (c *connection) tell(conn net.Conn) {
	c.read.server, c.read.tell = c.of, conn.SetReadDeadline
	c.written.server, c.written.tell = c.of, conn.SetWriteDeadline
}
