package httpserver

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
	// beginTime is the longest time that an HTTP/2 stream delays the others of its connection.
	beginTime = 250 * time.Millisecond
	// mostStreams is how many streams of all connections may wait, to begin or for their clients to read the answers.
	// Beyond it, streams of connections with more than their share are refused.
	mostStreams = 2048
)

// onHTTP2 is the context key of an HTTP/2 connection.
type onHTTP2 struct{}

// onConnection starts the streams of an HTTP/2 connection one after the other, so that a connection causes no more work
// at a time than an HTTP/1.1 connection: a stream begins when the previous one has ended, or was admitted and reads its
// body, or has taken longer than beginTime.
type onConnection struct {
	all     *streams
	below   *connection
	turn    chan struct{} // holds one element while a stream begins
	waiting int           // waiting streams; guarded by all.mu
}

// streams counts the waiting streams of all HTTP/2 connections: those that wait to begin, or for their clients to read
// the answers. Admitted requests have bounds of their own in between.
type streams struct {
	most int // see mostStreams

	mu          sync.Mutex
	waiting     int
	connections int // connections with waiting streams
}

// newHTTP2 returns net/http's server for connections for which TLS negotiated HTTP/2.
func (s *Server) newHTTP2() *http.Server {
	known := &tls.ConnectionState{HandshakeComplete: true} // net/http does not know the TLS state of these connections
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

// countFields refuses header fields that HTTP/1.1 would refuse, and counts the memory of the others until the request
// has ended, as client1.count does.
func (s *Server) countFields(fields http.Header) (taken int64, refused error) {
	lines := 0
	for name, values := range fields {
		for _, v := range values {
			lines++
			if name == "Cookie" { // net/http joins the lines (RFC 9113, section 8.2.3)
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

// refuse answers an HTTP/2 request with an error and ends its connection: a new one costs the client more.
func refuse(w http.ResponseWriter, why *refusal) {
	w.Header().Set("Connection", "close")
	if why.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, http.StatusText(why.status)+": "+why.reason, why.status)
}

// agreedListener passes the connections for which TLS negotiated HTTP/2 to net/http.
type agreedListener struct{ *Server }

// Accept implements net.Listener.
func (l agreedListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.agreed:
		return c, nil
	case <-l.agreeing.Done():
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (l agreedListener) Addr() net.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.listener.Addr()
}

// Close implements net.Listener. The server's own listener is closed separately.
func (l agreedListener) Close() error {
	l.agreeEnd()
	return nil
}

func (s *Server) mark(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, onHTTP2{}, &onConnection{
		all: &s.streams, below: conn.(*framesConn).below, turn: make(chan struct{}, 1),
	})
}

// state implements http.Server.ConnState.
func (s *Server) state(conn net.Conn, state http.ConnState) {
	switch c := conn.(*framesConn).below; state {
	case http.StateActive:
		_ = c.setBusy() // a connection that was closed ends by itself
	case http.StateIdle:
		c.setWaiting(forRequest)
	}
}

// serve lets next answer on an HTTP/2 stream.
func (c *onConnection) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
	if !c.count(false) {
		w.Header().Set("Connection", "close") // a new connection costs the client more
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if !c.begin(r.Context()) {
		c.discount()
		return // the client has left
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
	_ = http.NewResponseController(w).Flush() // otherwise net/http would flush, and the stream would not be counted
}

// begin waits until a stream may begin. It returns false if its client has left.
func (c *onConnection) begin(ctx context.Context) bool {
	select {
	case c.turn <- struct{}{}:
		runtime.Gosched() // so that streams of other connections come next
		return true
	case <-ctx.Done():
		return false
	}
}

// count counts a waiting stream, and reports whether it may wait: a stream that has begun always may.
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

// beginning is the body of a stream that is beginning. Reading it means that the request was admitted.
type beginning struct {
	io.ReadCloser
	conn *connection
	end  func()
}

// Read implements io.Reader.
func (s *beginning) Read(p []byte) (int, error) {
	s.end()
	n, err := s.ReadCloser.Read(p)
	if n > 0 {
		s.conn.bodyRead.Store(int64(s.conn.of.age()))
	}
	return n, err
}
