package provider

import (
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"weir/internal/rawio"
)

const (
	idleConnsPerHost = 512
	idleConnTimeout  = 90 * time.Second
	// maxConnAge bounds the reuse of a connection, so that the host name is resolved again, which may give another
	// address.
	maxConnAge = 10 * time.Minute
)

// maxRecord is the longest TLS record (RFC 8446, section 5.1).
const maxRecord = 16 << 10

// conn is one connection to a provider.
type conn struct {
	net.Conn  // the socket, or TLS over it
	socket    *socket
	kill      func()      // Close as a function value, created once
	used      bool        // by an earlier exchange
	webSocket *keptSocket // nil for HTTP
	opened    time.Time
	since     time.Time // when it became idle

	one [1]byte
}

func newConn(c net.Conn, s *socket) *conn {
	return &conn{Conn: c, socket: s, kill: func() { _ = s.Close() }, opened: time.Now()}
}

// Close closes the socket at once. Closing TLS would first send an alert and wait for a peer that does not read.
func (c *conn) Close() error { return c.socket.Close() }

// write sends head and body, in one write if they fit into one TLS record or there is no TLS, and returns how many
// bytes were sent. A TLS record that was sent only in part counts as not sent, because the peer cannot decrypt it.
func (c *conn) write(head *[]byte, body []byte) (int64, error) {
	plain := c.Conn == net.Conn(c.socket)
	if n := len(*head) + len(body); n <= cap(*head) || !plain && n <= maxRecord {
		*head = append(*head, body...)
		n, err := c.Write(*head)
		return int64(n), err
	}
	both := net.Buffers{*head, body}
	if plain {
		return both.WriteTo(c.socket.Conn)
	}
	return both.WriteTo(c.Conn)
}

// readNow reads the data that has arrived, without waiting. It returns io.EOF if the peer has closed the connection,
// and rawio.ErrNothingNow if no data has arrived.
func (c *conn) readNow(p []byte) (int, error) {
	c.socket.noWait = true
	n, err := c.Read(p)
	c.socket.noWait = false
	return n, err
}

// isQuiet reports whether the peer has neither closed the connection nor sent a byte.
func (c *conn) isQuiet() bool {
	if c.webSocket != nil {
		return len(c.webSocket.arrived) == 0
	}
	_, err := c.readNow(c.one[:])
	return errors.Is(err, rawio.ErrNothingNow)
}

// pool holds idle connections. The connection used last is reused first, so that surplus ones age, and one timer closes
// them. Idle connections are not watched: take checks a connection before it is reused.
type pool struct {
	mu      sync.Mutex
	idle    []*conn     // longest idle first
	timer   *time.Timer // nil before the first connection
	ticking bool
	closed  bool
}

// take returns a usable connection that suits, or nil. A nil function means that all do.
func (p *pool) take(suits func(*conn) bool) *conn {
	for {
		c := p.pop(suits)
		if c == nil || c.isQuiet() {
			return c
		}
		_ = c.Close()
	}
}

func (p *pool) pop(suits func(*conn) bool) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	for last >= 0 && suits != nil && !suits(p.idle[last]) {
		last--
	}
	if last < 0 {
		return nil
	}
	c := p.idle[last]
	p.idle = slices.Delete(p.idle, last, last+1)
	return c
}

func (p *pool) put(c *conn) {
	c.used, c.since = true, time.Now()
	if c.since.Sub(c.opened) > maxConnAge || !p.push(c) {
		_ = c.Close()
	}
}

func (p *pool) push(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) >= idleConnsPerHost {
		return false
	}
	p.idle = append(p.idle, c)
	if p.timer == nil {
		p.timer = time.AfterFunc(idleConnTimeout, p.sweep)
	} else if !p.ticking {
		p.timer.Reset(idleConnTimeout)
	}
	p.ticking = true
	return true
}

// oldest returns since when the longest idle connection has been idle.
func (p *pool) oldest() (since time.Time, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return time.Time{}, false
	}
	return p.idle[0].since, true
}

// closeOldest closes the longest idle connection, and reports whether there was one.
func (p *pool) closeOldest() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return false
	}
	_ = p.idle[0].Close()
	p.idle = slices.Delete(p.idle, 0, 1)
	return true
}

// sweep closes connections that have been idle for too long.
func (p *pool) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, old := time.Now(), 0
	for old < len(p.idle) && now.Sub(p.idle[old].since) >= idleConnTimeout {
		_ = p.idle[old].Close()
		old++
	}
	p.idle = slices.Delete(p.idle, 0, old)
	p.ticking = len(p.idle) > 0 && !p.closed
	if p.ticking {
		p.timer.Reset(idleConnTimeout - now.Sub(p.idle[0].since))
	}
}

// close closes all idle connections and those that are put back later.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
	for _, c := range p.idle {
		_ = c.Close()
	}
	p.idle = nil
}
