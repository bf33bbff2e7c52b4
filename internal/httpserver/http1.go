package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"weir/internal/lifetime"
)

const (
	// usualHead is the size of a connection's read buffer.
	usualHead = 4 << 10
	// maxDrained is how many bytes of a body are read after its handler has finished, so that the connection can be
	// reused, and drainTime how long the answer waits for them.
	maxDrained = 256 << 10
	drainTime  = 50 * time.Millisecond
)

// client1 is a client's HTTP/1.1 connection. One goroutine reads its requests and lets the handler answer them one
// after the other.
type client1 struct {
	server *Server
	below  *connection
	wire   net.Conn             // below, or TLS over it
	tls    *tls.ConnectionState // nil for plain HTTP
	remote string
	ctx    context.Context          // ends when the client leaves
	under  atomic.Pointer[exchange] // the current exchange, which ends then, too
	in     *buffer                  // in.b[at:end] was read and not used yet; nil if there is nothing
	at     int
	end    int
	heads  int64 // bytes counted for the head
	memory memory
	later  func(context.Context) // serves the connection after the handlers; nil for none
	last   bool                  // no request follows
	unread bool                  // data that the client sent may not have been read when the answer was sent
	lost   bool                  // an answer could not be written
}

func (s *Server) newClient1(wire net.Conn, below *connection) *client1 {
	c := &client1{server: s, below: below, wire: wire, remote: below.Conn.RemoteAddr().String()}
	if secure, ok := wire.(*tls.Conn); ok {
		state := secure.ConnectionState()
		c.tls = &state
	}
	return c
}

// serve answers requests until the connection ends, or changes its protocol. Its frame is small, because streams wait
// above it.
func (c *client1) serve() {
	end := c.begin()
	c.answerAll()
	c.serveLater(end)
}

// begin adds the connection to those that the server watches. The result removes and closes it.
func (c *client1) begin() (end func()) {
	ctx, leave := context.WithCancel(c.server.o.Base)
	stop := context.AfterFunc(c.server.closed, leave)
	c.ctx = ctx
	c.server.watch.add(c.below, leave)
	return func() {
		c.server.watch.remove(c.below)
		stop()
		leave()
		c.close()
	}
}

// serveLater serves a changed protocol by a goroutine of its own, and ends the connection then; at once if there is
// none.
func (c *client1) serveLater(end func()) {
	later := c.later
	if later == nil {
		end()
		return
	}
	c.later, c.memory, c.tls = nil, memory{}, nil
	go func() {
		defer end()
		defer c.recovered()
		later(c.ctx)
	}()
}

// recovered logs a panic of the function that defers it.
func (c *client1) recovered() {
	if p := recover(); p != nil {
		c.later = nil
		c.logPanic(p, "")
	}
}

// answerAll answers requests until no further one can follow.
func (c *client1) answerAll() {
	defer c.recovered()
	defer context.AfterFunc(c.ctx, c.left)()
	c.below.read.setIn(c.server.o.HeadTime)
	for !c.last && (!c.server.stopping.Load() || c.server.retiring.Load()) {
		x, err := c.next()
		if err != nil {
			c.refuse(err)
			break
		}
		if c.answer(x); !c.last {
			c.releaseHead()
			c.shrinkInput()
			c.below.setWaiting(forRequest)
		}
	}
	if !c.lost && (c.unread || c.last && c.at < c.end) {
		c.linger()
	}
}

// left ends the current exchange after the client has left.
func (c *client1) left() {
	if x := c.under.Load(); x != nil {
		x.life.End()
	}
}

func (c *client1) logPanic(p any, path string) {
	c.server.o.Log.Error("a request panicked", "path", path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
}

func (c *client1) close() {
	c.releaseHead()
	c.dropInput()
	_ = c.wire.Close()
}

// releaseHead releases the memory counted for the head of a finished request.
func (c *client1) releaseHead() {
	if c.heads > 0 {
		c.server.heads.grow(-c.heads)
		c.heads = 0
	}
}

// next waits for the next request and reads its head.
func (c *client1) next() (*exchange, error) {
	var scan headScan
	for begun, emptyLine := false, false; ; {
		end, err := scan.end(c.unused())
		switch {
		case err != nil:
			return nil, err
		case end == len("\r\n") && emptyLine:
			return nil, errLine
		case end == len("\r\n"): // an empty line before the request line (RFC 9112, section 2.2)
			c.at, scan, emptyLine = c.at+end, headScan{}, true
			continue
		case end > c.server.o.MaxHead, c.end-c.at > c.server.o.MaxHead && end == 0:
			return nil, errLongHead
		case end > 0:
			h := head{text: string(c.in.b[c.at : c.at+end]), lines: scan.lines}
			c.at += end
			if err := c.count(int64(end) + int64(scan.lines)*headLine - freeHead); err != nil {
				return nil, err
			}
			if !c.below.setBusy() {
				return nil, net.ErrClosed
			}
			c.below.read.set(0)
			return c.open(&h)
		}
		switch {
		case c.at == c.end:
			runtime.Gosched() // the next request may arrive meanwhile: a read without data costs a system call
		case !begun: // only a part of the head has arrived
			if begun = true; !c.below.setWaiting(forHead) {
				return nil, net.ErrClosed
			}
			c.below.read.setIn(c.server.o.HeadTime)
		}
		if err := c.fill(); err != nil {
			return nil, err
		}
		if err := c.count(int64(c.end-c.at) - freeHead); err != nil {
			return nil, err
		}
	}
}

// count reserves memory for a head of n bytes.
func (c *client1) count(n int64) error {
	more := n - c.heads
	if more <= 0 {
		return nil
	}
	if !c.server.heads.grow(more) {
		return errHeads
	}
	c.heads += more
	return nil
}

// unused returns the bytes that were read and not used yet.
func (c *client1) unused() []byte {
	if c.in == nil {
		return nil
	}
	return c.in.b[c.at:c.end]
}

// fill reads more data into the buffer.
func (c *client1) fill() error {
	switch {
	case c.in == nil:
		c.in = c.server.inputs.Get().(*buffer)
	case c.at == c.end:
		c.at, c.end = 0, 0
	case c.end == len(c.in.b) && c.at > 0:
		c.end = copy(c.in.b, c.in.b[c.at:c.end])
		c.at = 0
	case c.end == len(c.in.b):
		larger := make([]byte, 2*len(c.in.b))
		copy(larger, c.in.b)
		c.in.b = larger
	}
	n, err := c.wire.Read(c.in.b[c.end:])
	c.end += n
	if n > 0 {
		return nil
	}
	return err
}

// dropInput returns an empty buffer to the pool.
func (c *client1) dropInput() {
	if c.in == nil || c.at < c.end {
		return
	}
	if len(c.in.b) == usualHead {
		c.server.inputs.Put(c.in)
	}
	c.in, c.at, c.end = nil, 0, 0
}

// shrinkInput moves the data behind a long head to a buffer of usual size.
func (c *client1) shrinkInput() {
	if c.in == nil || len(c.in.b) <= usualHead || c.end-c.at > usualHead {
		return
	}
	usual := c.server.inputs.Get().(*buffer)
	c.end = copy(usual.b, c.unused())
	c.in, c.at = usual, 0
}

// exchange is a request and its answer.
type exchange struct {
	life     lifetime.Lifetime // ends with the exchange, or when its client leaves
	request  *http.Request
	body     body
	response response
}

// open returns the exchange for a head.
func (c *client1) open(h *head) (*exchange, error) {
	x := &exchange{}
	x.life.Begin(c.ctx)
	r := c.server.blank.WithContext(&x.life)
	if err := h.parse(r, &c.memory); err != nil {
		return nil, err
	}
	x.request = r
	r.RemoteAddr, r.TLS = c.remote, c.tls
	x.body = body{client: c, framing: h.body(), expects: h.expects}
	if x.body.over = x.body.framing.Over(); x.body.over {
		r.Body = http.NoBody
	} else {
		r.Body = &x.body
	}
	x.response = response{client: c, exchange: x, header: c.memory.answered, length: -1}
	return x, nil
}

// answer lets the handler answer.
func (c *client1) answer(x *exchange) {
	defer c.memory.release()
	c.under.Store(x)
	defer c.under.Store(nil)
	defer x.life.End()
	if c.ctx.Err() != nil { // the client left before the exchange began
		x.life.End()
	}
	defer func() {
		switch p := recover(); p {
		case nil:
			return
		case http.ErrAbortHandler: // net/http's signal to abort an answer
		default:
			c.logPanic(p, x.request.URL.Path)
		}
		c.last, c.unread = true, true // a reset would discard data that was sent to the client
		x.response.drop()
	}()
	if x.body.over {
		c.dropInput()
	}
	c.server.o.Handler.ServeHTTP(&x.response, x.request)
	x.response.finish()
	c.below.read.set(0)
	c.below.written.set(0)
}

// refuse answers an invalid request. It does nothing if the connection ended.
func (c *client1) refuse(err error) {
	r, ok := errors.AsType[*refusal](err)
	if !ok {
		return
	}
	c.unread = true
	c.below.written.setIn(lingerPause)
	text := fmt.Sprintf("%d %s: %s\n", r.status, http.StatusText(r.status), r.reason)
	out := c.server.output()
	defer c.server.keep(out)
	out.b = fmt.Appendf(out.b, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"+
		"Content-Length: %d\r\nDate: ", r.status, http.StatusText(r.status), len(text))
	out.b = append(c.server.appendDate(out.b), "\r\n"...)
	if r.status == http.StatusServiceUnavailable {
		out.b = append(out.b, "Retry-After: 1\r\n"...)
	}
	out.b = append(append(out.b, "\r\n"...), text...)
	_, err = c.wire.Write(out.b)
	c.lost = err != nil
}

// linger closes the sending side of the connection and discards the rest of the request, which holds no memory
// meanwhile.
func (c *client1) linger() {
	c.below.written.setIn(lingerPause)
	c.releaseHead()
	c.at = c.end
	c.dropInput()
	if secure, ok := c.wire.(*tls.Conn); ok {
		_ = secure.CloseWrite()
	}
	c.below.linger() // below TLS, because the data is discarded
}
