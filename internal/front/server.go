// Package front answers clients over HTTP: HTTP/1.1 (RFC 9112) itself, and HTTP/2 (RFC 9113) by
// net/http, where TLS chose that. A handler is net/http's, and sees no difference.
//
// A request of which a proxy in front may see the end elsewhere is refused: such a proxy lets its
// client put a second request into the first, which then counts for whoever comes next on that
// connection (RFC 9112, section 11.2).
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
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weir/internal/outbound"
)

const (
	// handshakeTime is how long a client may take to agree on TLS.
	handshakeTime = 10 * time.Second
	// acceptPause is the shortest pause after a connection that could not be accepted.
	acceptPause = 5 * time.Millisecond
	// stopLook is how often a stop looks whether requests are over.
	stopLook = 5 * time.Millisecond
	// retiredIdle is how long a connection of a server that retires may be idle.
	retiredIdle = time.Second
	// maxStreams is how many streams a connection of HTTP/2 has at most: the fewest that RFC 9113,
	// section 6.5.2, recommends.
	maxStreams = 100
	// writeTime is how long no byte may go over a connection of HTTP/2 on which some wait.
	writeTime = 30 * time.Second
)

// Options is what a Server is made of.
type Options struct {
	Handler http.Handler
	Base    context.Context // which requests' contexts come from; nil for context.Background
	Secure  *tls.Config     // nil for plain HTTP; of protocols that it names beside HTTP, connections end with the handshake
	Log     *slog.Logger    // nil for none
	// Most is how many connections there are at most. Beyond it those are closed that have been without a
	// complete request for the longest, and where all have one, the new one.
	Most int
	// Release closes what the process can do without, where it can open no more files, and reports whether there was
	// anything; nil for nothing.
	Release  func() bool
	MaxHead  int           // bytes of the head of a request
	HeadTime time.Duration // within which a head comes
	IdleTime time.Duration // after which a connection without a request is closed, or up to lookEvery later
}

// Server answers clients.
type Server struct {
	o       Options
	heads   heads
	streams streams
	pace    *pace // of frames of HTTP/2
	watch   *watch
	http2   *http.Server

	lingering atomic.Int64 // connections that do
	crowded   atomic.Int64 // its age until which isCrowded
	short     shortage

	inputs, outputs sync.Pool // of *buffer: what is read, and what is to be written
	date            atomic.Pointer[date]

	began    time.Time
	stopping atomic.Bool
	retiring atomic.Bool // see Retire
	closed   context.Context
	end      context.CancelFunc
	agreed   chan net.Conn // on HTTP/2
	agreeing context.Context
	agreeEnd context.CancelFunc
	blank    http.Request

	mu       sync.Mutex
	listener net.Listener
	open     map[*connection]struct{}
}

// New makes a server.
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
	s.outputs.New = func() any { return &buffer{make([]byte, 0, usualHead)} }
	if o.Secure != nil {
		s.o.Secure = o.Secure.Clone()
		s.o.Secure.NextProtos = append([]string{"h2", "http/1.1"}, o.Secure.NextProtos...)
		s.http2 = s.newHTTP2()
		s.agreeing, s.agreeEnd = context.WithCancel(closed)
	}
	return s
}

// Serve answers on the listener until the server is closed or shut down; then the error is
// http.ErrServerClosed.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.listener = l; s.stopping.Load() { // before there was one to be closed
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
			<-s.closed.Done() // requests have deadlines until they are over
			return http.ErrServerClosed
		case err != nil && !isOver(err):
			if outbound.IsShort(err) && s.makeRoom() {
				continue
			}
			pause = min(max(2*pause, acceptPause), time.Second)
			s.o.Log.Error("a connection could not be accepted", "err", err, "pause", pause)
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

// isOver reports whether no other connection is accepted after this error. There may be others after such as
// that too many files are open (accept(2)).
func isOver(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.EBADF) || errors.Is(err, syscall.EINVAL)
}

// makeRoom closes connections of clients that wait, and what else the process can do without, and reports whether
// there was anything. A file is closed when whoever reads it has let go of it: a moment later.
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

// Retire has every answer over HTTP/1.1 that begins from now on end its connection, so that clients make new ones,
// elsewhere or here, while the server goes on. Shutdown then takes one more request on each connection that was open
// or idle a moment ago, for its client cannot know.
func (s *Server) Retire() { s.retiring.Store(true) }

// Shutdown takes no more connections and requests, and returns when those that there are have ended. Where
// ctx ends before, the error is its own, and Close ends them.
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
		s.closeThose(func(c *connection, since time.Duration) bool { // net/http closes its own
			switch c.waiting() {
			case forRequest:
				return !c.isHTTP2.Load() && s.age()-since >= grace
			case forEnd:
				return s.age()-since >= lingerStop
			}
			return false // a head has its time
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

// look ends reads and writes whose deadlines have passed, and closes what is idle for too long, until the
// server is closed.
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

// plainRefusal answers a client that speaks plain HTTP where TLS is spoken.
const plainRefusal = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n" +
	"Content-Length: 53\r\n\r\nThis port speaks HTTPS. Use https:// in the address.\n"

// isPlain reports whether what should be the head of a TLS record begins a request.
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
	default: // the handshake was all, as in TLS-ALPN-01
		_ = secure.Close()
		return
	}
	select {
	case s.agreed <- newFramesConn(secure, c):
	case <-s.agreeing.Done():
		_ = c.Close()
	}
}

// buffer is room that is used again.
type buffer struct{ b []byte }

// output is room for what is to be written.
func (s *Server) output() *buffer { return s.outputs.Get().(*buffer) }

// keep gives room back; nil is none.
func (s *Server) keep(out *buffer) {
	if out != nil && cap(out.b) <= keepOutput {
		out.b = out.b[:0]
		s.outputs.Put(out)
	}
}

// date is the time as a header has it, of a second.
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
