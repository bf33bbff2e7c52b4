package framing

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"
)

// handshakeTime is how long a client may take to agree on TLS.
const handshakeTime = 10 * time.Second

// Listener gives net/http the connections of clients. There is a most of them: beyond it the one
// is closed that has been without a request for the longest, and where all have one, the new one.
// What comes in HTTP/1, over TLS or not, is refused where its framing is in doubt.
type Listener struct {
	net.Listener
	secure *tls.Config // nil for plain HTTP
	heads  heads
	most   int

	begun  sync.Once
	ready  chan accepted // behind their handshakes
	closed context.Context
	end    context.CancelFunc

	mu   sync.Mutex
	open int
	idle *list.List // of *connection, the longest idle first
}

type accepted struct {
	conn net.Conn
	err  error
}

// Listen takes up to most connections, over TLS where secure is not nil.
func Listen(l net.Listener, secure *tls.Config, most int) *Listener {
	closed, end := context.WithCancel(context.Background())
	if secure != nil {
		secure = secure.Clone()
		secure.NextProtos = []string{"h2", "http/1.1"}
	}
	return &Listener{
		Listener: l, secure: secure, most: most, idle: list.New(), ready: make(chan accepted), closed: closed, end: end,
	}
}

// Serve has a server answer on the listener until that is closed.
func (l *Listener) Serve(s *http.Server) error {
	s.TLSConfig = l.secure // by which net/http knows that there is HTTP/2
	s.ConnState, s.ConnContext = l.state, markTLS
	return s.Serve(l)
}

// Accept is net.Listener's.
func (l *Listener) Accept() (net.Conn, error) {
	if l.secure == nil {
		c, err := l.accept()
		if err != nil {
			return nil, err
		}
		return l.strict(c, c), nil
	}
	l.begun.Do(func() { go l.agree() })
	select {
	case a := <-l.ready:
		return a.conn, a.err
	case <-l.closed.Done():
		return nil, net.ErrClosed
	}
}

// Close is net.Listener's.
func (l *Listener) Close() error {
	l.end()
	return l.Listener.Close()
}

// agree accepts connections and has their clients agree on TLS side by side.
func (l *Listener) agree() {
	for {
		c, err := l.accept()
		if err == nil {
			go l.handshake(c)
		} else if !l.deliver(accepted{err: err}) {
			return
		}
	}
}

func (l *Listener) handshake(c *connection) {
	ctx, cancel := context.WithTimeout(l.closed, handshakeTime)
	defer cancel()
	secure := tls.Server(c, l.secure)
	a := accepted{conn: secure}
	if secure.HandshakeContext(ctx) != nil {
		_ = c.Close()
		return
	}
	if secure.ConnectionState().NegotiatedProtocol != "h2" {
		a.conn = l.strict(secure, c)
	}
	if !l.deliver(a) {
		_ = c.Close()
	}
}

func (l *Listener) deliver(a accepted) bool {
	select {
	case l.ready <- a:
		return true
	case <-l.closed.Done():
		return false
	}
}

func (l *Listener) strict(c net.Conn, below *connection) *strictConn {
	return &strictConn{Conn: c, below: below, framing: newFraming(), heads: &l.heads}
}

// connection is one on the wire.
type connection struct {
	net.Conn
	of    *Listener
	place *list.Element // among the idle; nil with a request. Under of.mu, as is gone
	gone  bool
}

// accept waits for a connection for which there is a place.
func (l *Listener) accept() (*connection, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: conn, of: l}
		oldest, ok := l.add(c)
		if oldest != nil {
			_ = oldest.Conn.Close()
		}
		if ok {
			return c, nil
		}
		_ = conn.Close()
	}
}

// add counts a connection. It returns the one that has to go for it, and false where none can.
func (l *Listener) add(c *connection) (oldest *connection, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.most {
		first := l.idle.Front()
		if first == nil {
			return nil, false
		}
		oldest = first.Value.(*connection)
		l.removeLocked(oldest)
	}
	l.open++
	c.place = l.idle.PushBack(c)
	return oldest, true
}

func (l *Listener) removeLocked(c *connection) {
	if c.gone {
		return
	}
	c.gone = true
	l.open--
	if c.place != nil {
		l.idle.Remove(c.place)
	}
}

// Close is net.Conn's.
func (c *connection) Close() error {
	c.of.mu.Lock()
	c.of.removeLocked(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// Read is net.Conn's. Over TLS it gives up the processor, on which others may wait: a client that
// sends frames of HTTP/2 without end never has its reader wait.
func (c *connection) Read(p []byte) (int, error) {
	if c.of.secure != nil {
		runtime.Gosched()
	}
	return c.Conn.Read(p)
}

// state is an http.Server's ConnState.
func (l *Listener) state(conn net.Conn, s http.ConnState) {
	c := belowOf(conn)
	if c == nil || s != http.StateActive && s != http.StateIdle {
		return
	}
	if strict, ok := conn.(*strictConn); ok && s == http.StateIdle {
		strict.release()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case c.gone:
	case s == http.StateIdle && c.place == nil:
		c.place = l.idle.PushBack(c)
	case s == http.StateActive && c.place != nil:
		l.idle.Remove(c.place)
		c.place = nil
	}
}

func belowOf(conn net.Conn) *connection {
	switch c := conn.(type) {
	case *strictConn:
		return c.below
	case *tls.Conn:
		below, _ := c.NetConn().(*connection)
		return below
	}
	return nil
}

// overTLS is the key of a context that says that the client came over TLS. net/http tells handlers
// so of connections that it knows to be of TLS alone.
type overTLS struct{}

func markTLS(ctx context.Context, conn net.Conn) context.Context {
	if c, ok := conn.(*strictConn); ok && c.Conn != net.Conn(c.below) {
		return context.WithValue(ctx, overTLS{}, true)
	}
	return ctx
}

// isOverTLS reports whether a request came over TLS, of which net/http tells nothing.
func isOverTLS(r *http.Request) bool {
	return r.TLS == nil && r.Context().Value(overTLS{}) != nil
}
