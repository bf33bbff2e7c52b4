package front

import (
	"net"
	"sync"
	"time"
)

// lookEvery is how often it is looked which deadlines have passed. A timer for each read and write
// would be most of what these cost.
const lookEvery = 250 * time.Millisecond

// deadline is one of a connection, for reads or for writes. It passes up to lookEvery late.
type deadline struct {
	server *Server
	tell   func(time.Time) error // the socket

	mu     sync.Mutex
	at     time.Duration // age of the server; 0 for none
	passed bool          // the socket was told
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
		_ = d.tell(time.Time{}) // a socket that is closed needs none
	}
}

// look ends reads or writes whose deadline has passed.
func (d *deadline) look(now time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.at > 0 && d.at <= now && !d.passed {
		d.passed = true
		_ = d.tell(time.Unix(1, 0)) // long ago
	}
}

// tell makes the deadlines of a connection those of its socket.
func (c *connection) tell(conn net.Conn) {
	c.read.server, c.read.tell = c.of, conn.SetReadDeadline
	c.written.server, c.written.tell = c.of, conn.SetWriteDeadline
}
