package framing

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// handshakeTime is how long a client may take to agree on TLS.
const handshakeTime = 10 * time.Second

// Listener gives net/http the connections of clients. There is a most of them: beyond it the one
// is closed that has been without a request for the longest, and where all have one, the new one.
// What comes in HTTP/1, over TLS or not, is refused where its framing is in doubt.
type Listener struct {
	net.Listener
	secure  *tls.Config // nil for plain HTTP
	heads   heads
	most    int
	streams streams
	pace    *pace // of frames of HTTP/2

	begun  sync.Once
	ready  chan accepted // behind their handshakes
	closed context.Context
	end    context.CancelFunc

	began time.Time
	mu    sync.Mutex
	open  map[*connection]struct{}
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
		Listener: l, secure: secure, most: most,
		streams: streams{most: mostStreams}, pace: newPace(runtime.GOMAXPROCS(0)), ready: make(chan accepted), closed: closed, end: end, began: time.Now(), open: map[*connection]struct{}{},
	}
}

// Serve has a server answer on the listener until that is closed. It closes idle connections
// itself: net/http keeps what a connection of HTTP/2 has held for as long as it may be idle, also
// where it was closed long before.
func (l *Listener) Serve(s *http.Server) error {
	s.ConnState, s.ConnContext = l.state, l.mark
	if l.secure != nil { // net/http does not see that it is over TLS
		s.Protocols = new(http.Protocols)
		s.Protocols.SetHTTP1(true)
		s.Protocols.SetUnencryptedHTTP2(true)
	}
	if s.IdleTimeout > 0 {
		var closing sync.WaitGroup
		defer closing.Wait()
		idle := s.IdleTimeout
		closing.Go(func() { l.closeIdle(idle) })
		s.IdleTimeout = 0
	}
	return s.Serve(l)
}

// closeIdle closes what is idle for so long or up to a tenth longer, until the listener is closed.
func (l *Listener) closeIdle(idle time.Duration) {
	look := time.NewTicker(idle / 10)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			l.closeThose(func(since time.Duration) bool { return l.age()-since >= idle })
		case <-l.closed.Done():
			return
		}
	}
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
	if secure.HandshakeContext(ctx) != nil {
		_ = c.Close()
		return
	}
	conn := net.Conn(newFramesConn(secure, c))
	if secure.ConnectionState().NegotiatedProtocol != "h2" {
		conn = l.strict(secure, c)
	}
	if !l.deliver(accepted{conn: conn}) {
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
	of        *Listener
	idleSince atomic.Int64 // age of the listener, in nanoseconds; 0 with a request
	bodyRead  atomic.Int64 // its age when some of a body was last read, of HTTP/2
}

// accept waits for a connection for which there is a place.
func (l *Listener) accept() (*connection, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: conn, of: l}
		c.idleSince.Store(int64(l.age()))
		if l.add(c) || l.makePlaces() && l.add(c) {
			return c, nil
		}
		_ = conn.Close()
	}
}

func (l *Listener) age() time.Duration { return time.Since(l.began) }

func (l *Listener) add(c *connection) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.most {
		return false
	}
	l.open[c] = struct{}{}
	return true
}

// placesAtOnce is the part of all connections that is closed when a place is needed: whoever looks
// for the longest idle looks at all.
const placesAtOnce = 64

// makePlaces closes connections that are the longest idle, and reports whether there were any.
func (l *Listener) makePlaces() bool {
	l.mu.Lock()
	var idle []int64
	for c := range l.open {
		if since := c.idleSince.Load(); since > 0 {
			idle = append(idle, since)
		}
	}
	l.mu.Unlock()
	if len(idle) == 0 {
		return false
	}
	slices.Sort(idle)
	last := idle[min(l.most/placesAtOnce, len(idle)-1)]
	return l.closeThose(func(since time.Duration) bool { return int64(since) <= last })
}

// closeThose closes connections of which this holds for the age since which they are idle, and
// reports whether there were any.
func (l *Listener) closeThose(holds func(since time.Duration) bool) bool {
	l.mu.Lock()
	var those []*connection
	for c := range l.open {
		if since := c.idleSince.Load(); since > 0 && holds(time.Duration(since)) {
			delete(l.open, c)
			those = append(those, c)
		}
	}
	l.mu.Unlock()
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

// Write is net.Conn's. Over TLS it gives up the processor, on which others may wait: a connection
// of HTTP/2 may never run out of what is to be written.
func (c *connection) Write(p []byte) (int, error) {
	if c.of.secure != nil {
		runtime.Gosched()
	}
	return c.Conn.Write(p)
}

// state is an http.Server's ConnState.
func (l *Listener) state(conn net.Conn, s http.ConnState) {
	c := belowOf(conn)
	if c == nil {
		return
	}
	switch s {
	case http.StateActive:
		c.idleSince.Store(0)
	case http.StateIdle:
		if strict, ok := conn.(*strictConn); ok {
			strict.release()
		}
		c.idleSince.Store(int64(l.age()))
	}
}

func belowOf(conn net.Conn) *connection {
	switch c := conn.(type) {
	case *strictConn:
		return c.below
	case *framesConn:
		return c.below
	}
	return nil
}
