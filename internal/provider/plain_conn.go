package provider

import (
	"errors"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

// errNothingNow says that nothing has arrived that could be read.
var errNothingNow = errors.New("nothing to read now")

// plainConn is one connection to a provider.
type plainConn struct {
	net.Conn
	kill  func() // Close, made once
	used  bool   // for an exchange before this one
	since time.Time

	raw     syscall.RawConn
	readRaw func(fd uintptr) bool // made once; works on the fields below
	now     []byte
	one     [1]byte
	nowN    int
	nowErr  error
}

func newPlainConn(c net.Conn) (*plainConn, error) {
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	p := &plainConn{Conn: c, raw: raw, kill: func() { _ = c.Close() }}
	p.readRaw = func(fd uintptr) bool {
		p.nowN, p.nowErr = readNow(fd, p.now)
		return true
	}
	return p, nil
}

// write sends head and body in one write, and gives how much of them went out.
func (c *plainConn) write(head *[]byte, body []byte) (int64, error) {
	if len(*head)+len(body) <= cap(*head) {
		n, err := c.Write(append(*head, body...))
		return int64(n), err
	}
	both := net.Buffers{*head, body}
	return both.WriteTo(c.Conn)
}

// readNow reads what has arrived and does not wait. It returns io.EOF where
// the peer has closed, and errNothingNow where there is nothing.
func (c *plainConn) readNow(p []byte) (int, error) {
	c.now = p
	err := c.raw.Read(c.readRaw)
	c.now = nil
	if err != nil {
		return 0, err
	}
	return c.nowN, c.nowErr
}

// isQuiet reports whether the peer has neither closed nor sent a byte.
func (c *plainConn) isQuiet() bool {
	_, err := c.readNow(c.one[:])
	return errors.Is(err, errNothingNow)
}

// pool keeps connections between exchanges. The one that was used last is
// used first, so that those which are not needed grow old. One timer closes
// these; nothing watches a connection that is idle: it is looked at when it is
// taken.
type pool struct {
	mu      sync.Mutex
	idle    []*plainConn // the longest idle first
	timer   *time.Timer  // nil until there was a connection
	ticking bool
	closed  bool
}

// take is a connection that can be written to, or nil.
func (p *pool) take() *plainConn {
	for {
		c := p.pop()
		if c == nil || c.isQuiet() {
			return c
		}
		_ = c.Close()
	}
}

func (p *pool) pop() *plainConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	c := p.idle[last]
	p.idle[last] = nil
	p.idle = p.idle[:last]
	return c
}

func (p *pool) put(c *plainConn) {
	c.used, c.since = true, time.Now()
	if !p.push(c) {
		_ = c.Close()
	}
}

func (p *pool) push(c *plainConn) bool {
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

// sweep closes what has been idle for too long.
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

// close closes every idle connection, and whatever is put here from now on.
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
