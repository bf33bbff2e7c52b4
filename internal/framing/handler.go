package framing

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"
)

const (
	// beginTime is the longest that a stream of HTTP/2 has the others of its connection wait.
	beginTime = 250 * time.Millisecond
	// mostStreams is how many streams of all connections wait, to begin or to have their answers
	// taken, before those are refused whose connection has more than its share of them.
	mostStreams = 2048
)

// overTLS is the key of what a context knows of a connection over TLS.
type overTLS struct{}

// secured is a connection over TLS.
type secured struct {
	all     *streams      // nil for HTTP/1.1
	below   *connection   // likewise
	turn    chan struct{} // has one element while a stream begins
	waiting int           // streams. Under all.mu
}

// streams counts those of all connections of HTTP/2 that wait: to begin, or for their clients to take
// the answers. Requests that were let in have bounds of their own meanwhile.
type streams struct {
	most int // see mostStreams

	mu          sync.Mutex
	waiting     int
	connections int // that have any
}

func (l *Listener) mark(ctx context.Context, conn net.Conn) context.Context {
	switch c := conn.(type) {
	case *framesConn:
		return context.WithValue(ctx, overTLS{}, &secured{
			all: &l.streams, below: c.below, turn: make(chan struct{}, 1),
		})
	case *strictConn:
		if c.Conn != net.Conn(c.below) {
			return context.WithValue(ctx, overTLS{}, &secured{})
		}
	}
	return ctx
}

// Handler is next for the requests of a Listener. It closes a connection behind a request of which
// a handler cannot see whether it had a length beside its chunks, or chunks in HTTP/1.0 (RFC 9112,
// section 6.1). It has requests over TLS tell so, of which net/http says nothing where it does not
// know the connection. And it has the streams of a connection of HTTP/2 begin one after the other,
// so that a connection is no more work at a time than one of HTTP/1.1: the next one begins when
// the one before is over, or is let in and reads its body, or takes longer than beginTime.
func Handler(next http.Handler) http.Handler {
	known := &tls.ConnectionState{HandshakeComplete: true}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 && (r.ProtoMinor == 0 || len(r.TransferEncoding) > 0) {
			w.Header().Set("Connection", "close")
		}
		switch c, ok := r.Context().Value(overTLS{}).(*secured); {
		case !ok:
		case c.all == nil:
			r.TLS = known
		default:
			r.TLS = known
			c.serve(next, w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// serve has next answer on a stream of HTTP/2.
func (c *secured) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
	if !c.count(false) {
		w.Header().Set("Connection", "close") // a new one costs its client more
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if !c.begin(r.Context()) {
		c.discount()
		return // nobody waits for an answer
	}
	s := &beginning{ReadCloser: r.Body, conn: c.below, end: sync.OnceFunc(func() {
		<-c.turn
		c.discount()
	})}
	defer s.end()
	late := time.AfterFunc(beginTime, s.end)
	defer late.Stop()
	if r.Body != http.NoBody {
		r.Body = s
	}
	next.ServeHTTP(w, r)
	s.end()
	c.count(true)
	defer c.discount()
	_ = http.NewResponseController(w).Flush() // or net/http would, and nobody would count it
}

// begin waits until a stream may begin, and reports false where its client has left.
func (c *secured) begin(ctx context.Context) bool {
	select {
	case c.turn <- struct{}{}:
		runtime.Gosched() // other connections' streams come next
		return true
	case <-ctx.Done():
		return false
	}
}

// count counts a stream that waits, and reports whether it may: one that has begun may in any case.
func (c *secured) count(begun bool) bool {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	if c.waiting == 0 {
		c.all.connections++
	} else if !begun && c.all.waiting >= c.all.most && c.waiting >= c.all.most/c.all.connections {
		return false
	}
	c.waiting++
	c.all.waiting++
	return true
}

func (c *secured) discount() {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.all.waiting--
	if c.waiting--; c.waiting == 0 {
		c.all.connections--
	}
}

// beginning is the body of a stream that begins. Whoever reads it has let the request in.
type beginning struct {
	io.ReadCloser
	conn *connection
	end  func()
}

// Read is io.Reader's.
func (s *beginning) Read(p []byte) (int, error) {
	s.end()
	n, err := s.ReadCloser.Read(p)
	if n > 0 {
		s.conn.bodyRead.Store(int64(s.conn.of.age()))
	}
	return n, err
}
