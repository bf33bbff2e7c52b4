package front

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"

	"weir/internal/h1"
)

const (
	// beginTime is the longest that a stream of HTTP/2 has the others of its connection wait.
	beginTime = 250 * time.Millisecond
	// mostStreams is how many streams of all connections wait, to begin or to have their answers
	// taken, before those are refused whose connection has more than its share of them.
	mostStreams = 2048
)

// onHTTP2 is the key of what a context knows of a connection of HTTP/2.
type onHTTP2 struct{}

// onConnection has the streams of a connection of HTTP/2 begin one after the other, so that a
// connection is no more work at a time than one of HTTP/1.1: the next one begins when the one before
// is over, or is let in and reads its body, or takes longer than beginTime.
type onConnection struct {
	all     *streams
	below   *connection
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

// newHTTP2 is net/http's server for connections on which TLS chose HTTP/2.
func (s *Server) newHTTP2() *http.Server {
	known := &tls.ConnectionState{HandshakeComplete: true} // net/http says nothing of TLS that it does not know
	h := &http.Server{
		BaseContext: func(net.Listener) context.Context { return s.o.Base },
		ConnContext: s.mark, ConnState: s.state, Protocols: new(http.Protocols),
		ReadHeaderTimeout: s.o.HeadTime, MaxHeaderBytes: s.o.MaxHead, DisableGeneralOptionsHandler: true,
		HTTP2:    &http.HTTP2Config{MaxConcurrentStreams: maxStreams, WriteByteTimeout: writeTime},
		ErrorLog: slog.NewLogLogger(s.o.Log.Handler(), slog.LevelDebug),
	}
	h.Protocols.SetUnencryptedHTTP2(true)
	h.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.TLS = known
		taken, refused := s.countFields(r.Header)
		if why, is := errors.AsType[*refusal](refused); is {
			refuse(w, why)
			return
		}
		defer s.heads.grow(-taken)
		r.Context().Value(onHTTP2{}).(*onConnection).serve(s.o.Handler, w, r)
	})
	return h
}

// countFields refuses fields that HTTP/1.1 would refuse, too, and counts what the others take, as client1.count does,
// until the request is over.
func (s *Server) countFields(fields http.Header) (taken int64, refused error) {
	lines := 0
	for name, values := range fields {
		for _, v := range values {
			lines++
			if name == "Cookie" { // net/http joins its lines (RFC 9113, section 8.2.3)
				lines += strings.Count(v, "; ")
			}
			taken += int64(len(name) + len(v) + headLine)
		}
	}
	expected := fields.Get("Expect")
	switch {
	case lines > maxLines:
		return 0, errLines
	case len(fields["Content-Length"]) > 1:
		return 0, errLength
	case expected != "" && !h1.EqualFold(expected, "100-continue"):
		return 0, errExpect
	}
	if taken = max(0, taken-freeHead); !s.heads.grow(taken) {
		return 0, errHeads
	}
	return taken, nil
}

// refuse answers a request over HTTP/2 by the front itself, and ends its connection: a new one costs its client more.
func refuse(w http.ResponseWriter, why *refusal) {
	w.Header().Set("Connection", "close")
	if why.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, http.StatusText(why.status)+": "+why.reason, why.status)
}

// agreedListener gives net/http the connections on which TLS chose HTTP/2.
type agreedListener struct{ *Server }

// Accept is net.Listener's.
func (l agreedListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.agreed:
		return c, nil
	case <-l.agreeing.Done():
		return nil, net.ErrClosed
	}
}

// Addr is net.Listener's.
func (l agreedListener) Addr() net.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.listener.Addr()
}

// Close is net.Listener's. The server's own listener is closed beside it.
func (l agreedListener) Close() error {
	l.agreeEnd()
	return nil
}

func (s *Server) mark(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, onHTTP2{}, &onConnection{
		all: &s.streams, below: conn.(*framesConn).below, turn: make(chan struct{}, 1),
	})
}

// state is an http.Server's ConnState.
func (s *Server) state(conn net.Conn, state http.ConnState) {
	switch c := conn.(*framesConn).below; state {
	case http.StateActive:
		_ = c.setBusy() // what was closed ends by itself
	case http.StateIdle:
		c.setWaiting(forRequest)
	}
}

// serve has next answer on a stream of HTTP/2.
func (c *onConnection) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
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
func (c *onConnection) begin(ctx context.Context) bool {
	select {
	case c.turn <- struct{}{}:
		runtime.Gosched() // other connections' streams come next
		return true
	case <-ctx.Done():
		return false
	}
}

// count counts a stream that waits, and reports whether it may: one that has begun may in any case.
func (c *onConnection) count(begun bool) bool {
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

func (c *onConnection) discount() {
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
