// Package httpserver serves clients over HTTP. It implements HTTP/1.1 (RFC 9112) itself, and uses net/http for HTTP/2
// (RFC 9113) if TLS negotiated it. Handlers are net/http handlers and see no difference.
//
// It refuses requests for which a proxy in front may see another end than Weir does. Through such a proxy, a client
// could hide a second request inside the first, which would then be treated as the next client's on that connection
// (RFC 9112, section 11.2).
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
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weir/internal/outbound"
)

const (
	// handshakeTime bounds a client's TLS handshake.
	handshakeTime = 10 * time.Second
	// acceptPause is the shortest pause after an error of accept.
	acceptPause = 5 * time.Millisecond
	// stopLook is how often a stop checks whether all requests have ended.
	stopLook = 5 * time.Millisecond
	// retiredIdle is how long a connection of a retiring server may be idle.
	retiredIdle = time.Second
	// maxStreams bounds the streams of an HTTP/2 connection: the smallest number that RFC 9113, section 6.5.2,
	// recommends.
	maxStreams = 100
	// writeTime is how long the writes of an HTTP/2 connection may make no progress.
	writeTime = 30 * time.Second
)

// Options configure a Server.
type Options struct {
	Handler http.Handler
	Base    context.Context // parent of the requests' contexts; nil means context.Background
	Secure  *tls.Config     // nil for plain HTTP; connections for protocols in NextProtos end after the handshake
	Log     *slog.Logger    // nil for none
	// Most bounds the connections. Beyond it, the connections that have been longest without a complete request are
	// closed; if all have one, the new connection is closed.
	Most int
	// Release closes files that the process does not need, when it cannot open more, and reports whether there were
	// any; it may be nil.
	Release  func() bool
	MaxHead  int           // bytes of a request's head
	HeadTime time.Duration // time limit for a head
	IdleTime time.Duration // idle time before a connection is closed, up to lookEvery late
}

// Server serves HTTP clients.
type Server struct {
	o       Options
	heads   heads
	streams streams
	pace    *pace // of HTTP/2 frames
	watch   *watch
	http2   *http.Server

	lingering atomic.Int64 // lingering connections
	crowded   atomic.Int64 // age of the server until which isCrowded returns true
	short     shortage

	inputs, outputs sync.Pool // of *buffer, for reading and writing
	changed         sync.Pool // of *buffer, for reading after a change of the protocol
	date            atomic.Pointer[date]

	began    time.Time
	stopping atomic.Bool
	retiring atomic.Bool // see Retire
	closed   context.Context
	end      context.CancelFunc
	agreed   chan net.Conn // HTTP/2 connections
	agreeing context.Context
	agreeEnd context.CancelFunc
	blank    http.Request

	mu       sync.Mutex
	listener net.Listener
	open     map[*connection]struct{}
}

// New returns a server.
func New(o Options) *Server {
	if o.Base == nil {
		o.Base = context.Background()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	closed, end := context.WithCancel(context.Background())
	s := &Server{
		o: o, streams: streams{most: mostStreams}, pace: newPace(runtime.GOMAXPROCS(0)), watch: newWatch(o.Log),
		began: time.Now(), closed: closed, end: end, agreed: make(chan net.Conn), open: map[*connection]struct{}{},
	}
	s.inputs.New = func() any { return &buffer{make([]byte, usualHead)} }
	s.changed.New = func() any { return &buffer{make([]byte, upgradedInput)} }
	s.outputs.New = func() any { return &buffer{make([]byte, 0, usualHead)} }
	if o.Secure != nil {
		s.o.Secure = o.Secure.Clone()
		s.o.Secure.NextProtos = append([]string{"h2", "http/1.1"}, o.Secure.NextProtos...)
		s.http2 = s.newHTTP2()
		s.agreeing, s.agreeEnd = context.WithCancel(closed)
	}
	return s
}

// Serve accepts connections until the server is closed or shut down. It then returns http.ErrServerClosed.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.listener = l; s.stopping.Load() { // the server stopped before it had a listener to close
		_ = l.Close()
	}
	s.mu.Unlock()
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(s.watch.run)
	running.Go(s.look)
	if s.http2 != nil {
		running.Go(func() { _ = s.http2.Serve(agreedListener{s}) })
	}
	for pause := time.Duration(0); ; {
		c, err := s.accept(l)
		switch {
		case s.stopping.Load() && (err != nil || !s.retiring.Load()):
			if err == nil {
				_ = c.Close()
			}
			<-s.closed.Done() // deadlines of requests still apply until then
			return http.ErrServerClosed
		case err != nil && !isOver(err):
			if outbound.IsShort(err) && s.makeRoom() {
				continue
			}
			pause = min(max(2*pause, acceptPause), time.Second)
			s.o.Log.Error("failed to accept a connection", "err", err, "pause", pause)
			s.wait(pause)
			continue
		case err != nil:
			return errors.Join(err, s.Close())
		}
		pause = 0
		if s.o.Secure != nil {
			go s.handshake(c)
		} else {
			go s.newClient1(c, c).serve()
		}
	}
}

// isOver reports whether accept cannot succeed after this error. After others, such as too many open files (accept(2)),
// it may.
func isOver(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.EBADF) || errors.Is(err, syscall.EINVAL)
}

// makeRoom closes connections of waiting clients and unneeded files, and reports whether there were any. It waits a
// moment, because a file is closed only after its reader has released it.
func (s *Server) makeRoom() bool {
	released := s.o.Release != nil && s.o.Release()
	made := s.makePlaces()
	s.wait(time.Millisecond)
	return made || released
}

func (s *Server) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.closed.Done():
	}
}

// Retire lets every HTTP/1.1 answer that begins from now on close its connection, so that clients open new ones,
// possibly to another server, while this one continues. Shutdown then still accepts one request on each connection that
// was in use or idle a moment ago, because its client cannot know.
func (s *Server) Retire() { s.retiring.Store(true) }

// Shutdown accepts no more connections and requests, and returns when the running requests have ended. If ctx ends
// first, it returns ctx's error, and Close ends the requests.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stopping.Store(true)
	s.mu.Lock()
	if s.listener != nil {
		_ = s.listener.Close()
	}
	s.mu.Unlock()
	overHTTP2 := make(chan error, 1)
	go func() {
		var err error
		if s.http2 != nil {
			err = s.http2.Shutdown(ctx)
		}
		overHTTP2 <- err
	}()
	tick := time.NewTicker(stopLook)
	defer tick.Stop()
	grace := time.Duration(0)
	if s.retiring.Load() {
		grace = retiredIdle
	}
	for over := false; ; {
		s.closeThose(func(c *connection, since time.Duration) bool { // net/http closes its own connections
			switch c.waiting() {
			case forRequest:
				return !c.isHTTP2.Load() && s.age()-since >= grace
			case forEnd:
				return s.age()-since >= lingerStop
			}
			return false // a head that is arriving has its own timeout
		})
		if over && s.isEmpty() {
			s.end()
			s.watch.close()
			return nil
		}
		select {
		case err := <-overHTTP2:
			if over = true; err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (s *Server) isEmpty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) == 0
}

// Close closes all connections.
func (s *Server) Close() error {
	s.stopping.Store(true)
	s.end()
	s.watch.close()
	s.mu.Lock()
	var all []*connection
	for c := range s.open {
		all = append(all, c)
	}
	if s.listener != nil {
		_ = s.listener.Close()
	}
	s.mu.Unlock()
	for _, c := range all {
		_ = c.Close()
	}
	if s.http2 != nil {
		return s.http2.Close()
	}
	return nil
}

// look interrupts reads and writes after their deadlines and closes idle connections, until the server is closed.
func (s *Server) look() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var all []*connection
	for {
		select {
		case <-tick.C:
		case <-s.closed.Done():
			return
		}
		now := s.age()
		s.mu.Lock()
		for c := range s.open {
			all = append(all, c)
		}
		s.mu.Unlock()
		for _, c := range all {
			c.read.look(now)
			c.written.look(now)
		}
		clear(all)
		all = all[:0]
		if s.o.IdleTime > 0 {
			s.closeThose(func(c *connection, since time.Duration) bool {
				return c.waiting() == forRequest && now-since >= s.o.IdleTime
			})
		}
	}
}

// plainRefusal is the answer to a plain HTTP request on a TLS port.
const plainRefusal = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n" +
	"Content-Length: 53\r\n\r\nThis port speaks HTTPS. Use https:// in the address.\n"

// isPlain reports whether the first bytes, which should be a TLS record header, begin an HTTP request.
func isPlain(head [5]byte) bool {
	switch string(head[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "PATCH", "DELET", "OPTIO":
		return true
	}
	return false
}

func (s *Server) handshake(c *connection) {
	ctx, cancel := context.WithTimeout(s.closed, handshakeTime)
	defer cancel()
	secure := tls.Server(c, s.o.Secure)
	if err := secure.HandshakeContext(ctx); err != nil {
		if e, ok := errors.AsType[tls.RecordHeaderError](err); ok && isPlain(e.RecordHeader) {
			c.written.setIn(lingerPause)
			_, _ = io.WriteString(c, plainRefusal)
			c.linger()
		}
		_ = c.Close()
		return
	}
	switch secure.ConnectionState().NegotiatedProtocol {
	case "", "http/1.1":
		s.newClient1(secure, c).serve()
		return
	case "h2":
		c.isHTTP2.Store(true)
	default: // only the handshake was needed, as in TLS-ALPN-01
		_ = secure.Close()
		return
	}
	select {
	case s.agreed <- newFramesConn(secure, c):
	case <-s.agreeing.Done():
		_ = c.Close()
	}
}

// buffer is a reusable buffer.
type buffer struct{ b []byte }

// output returns a buffer for writing.
func (s *Server) output() *buffer { return s.outputs.Get().(*buffer) }

// keep returns a buffer to the pool; it may be nil.
func (s *Server) keep(out *buffer) {
	if out != nil && cap(out.b) <= keepOutput {
		out.b = out.b[:0]
		s.outputs.Put(out)
	}
}

// date is the value of a Date header, cached for a second.
type date struct {
	second int64
	text   string
}

func (s *Server) appendDate(dst []byte) []byte {
	now := time.Now()
	d := s.date.Load()
	if d == nil || d.second != now.Unix() {
		d = &date{now.Unix(), now.UTC().Format(http.TimeFormat)}
		s.date.Store(d)
	}
	return append(dst, d.text...)
}
