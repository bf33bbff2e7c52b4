package provider

import (
	"context"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// firstBuffer is the size of a buffer for a small request, and then for the head of its answer.
	firstBuffer = 4 << 10
	// maxPooledBuffer is the largest buffer that is reused.
	maxPooledBuffer = 64 << 10
	// maxInlineBody is the largest body that is written before reading the answer starts. The socket buffers hold more,
	// so the write does not block even if the provider answers early and stops reading.
	maxInlineBody = 64 << 10
)

// http1 is an HTTP/1.1 client (RFC 9112) for one provider. It starts no goroutine per connection, and a stream that
// waits for its next piece holds no buffer. It never sends a request twice: see write.
type http1 struct {
	route   *route
	origin  string // prefix of targets for a proxy that needs absolute URLs; else empty
	host    string // the Host header
	head    string // the constant part of each request's head
	idle    pool
	buffers sync.Pool // of *[]byte
}

func newHTTP1(o *Options) (*http1, error) {
	u, err := url.Parse(o.BaseURL)
	if err != nil {
		return nil, err
	}
	r, err := newRoute(u, o)
	if err != nil {
		return nil, err
	}
	field := hostField(u, r.address)
	w := &http1{
		route:   r,
		host:    field,
		head:    " HTTP/1.1\r\nHost: " + field + "\r\n",
		buffers: sync.Pool{New: func() any { return new(make([]byte, 0, firstBuffer)) }},
	}
	if r.isRelayed() {
		w.origin = "http://" + field
		w.head += r.authorization()
	}
	r.all.watch(&w.idle, true)
	return w, nil
}

// hostField returns the Host header (RFC 9110, section 7.2), with a port only if the base URL has one.
func hostField(u *url.URL, address string) string {
	host, port, _ := net.SplitHostPort(address)
	host = withoutZone(host)
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if u.Port() == "" {
		return host
	}
	return host + ":" + port
}

func (w *http1) close() {
	w.route.all.watch(&w.idle, false)
	w.idle.close()
}

// answer is the received part of an answer. Closing its body aborts the rest.
type answer struct {
	status int
	header Header
	length int64 // of the body; -1 if unknown
	body   io.ReadCloser
}

// Header is the header of an answer.
type Header interface {
	// Get returns the first value of the field; empty if absent. The name must be in canonical form, such as
	// "Content-Type".
	Get(name string) string
	// All returns all fields, with their names as received.
	All() iter.Seq2[string, string]
}

// send sends a request and waits for the head of its answer. It sets x.sent before anything can be sent, and attaches
// to x the function that aborts it. With Call.KeepLate the error of a late answer is a *lateError.
func (w *http1) send(x *exchange, c *Call, method, target string) (answer, error) {
	x.follow()
	b := &x.http1
	b.client, b.exchange = w, x
	if err := b.write(c, method, target); err != nil {
		return answer{}, err
	}
	if c.KeepLate {
		x.keepLate(func() bool { return b.conn.SetReadDeadline(longAgo) == nil })
	}
	return b.answer()
}

// longAgo is a deadline in the past: a pending read of the connection returns.
var longAgo = time.Unix(1, 0)

// answer waits for the head of the answer. If the head is late but may still arrive, the error is a *lateError. A
// provider that has not read the request by then is not waited for: its caller may use the body again.
func (b *http1Body) answer() (answer, error) {
	h, err := b.readHead()
	if errors.Is(err, errLate) && !b.isWritten() {
		b.exchange.abort(expiry(KindFirstByteTimeout))
		err = os.ErrDeadlineExceeded
	}
	switch {
	case errors.Is(err, errLate):
		return answer{}, &lateError{b.answer}
	case err != nil:
		_ = b.conn.Close()
		b.awaitWrite()
		return answer{}, err
	}
	return answer{status: h.status, header: &b.fields, length: h.length, body: b}, nil
}

// write sends the request. It reuses a connection only if the peer has neither closed it nor sent anything unexpected.
// It retries only if no byte was sent, because a provider must not serve a request twice that it may have begun to
// serve.
func (b *http1Body) write(c *Call, method, target string) error {
	buf := b.client.buffer()
	*buf = b.client.appendHead(*buf, b.exchange, c, method, target)
	head := len(*buf)
	for {
		*buf = (*buf)[:head] // without the body of a try before
		conn, err := b.client.connect(b.exchange)
		if err != nil {
			return err
		}
		b.conn, b.clean = conn, true
		b.exchange.sent.Store(true)
		if len(c.Body) > maxInlineBody {
			b.writeBeside(buf, c.Body)
			return nil
		}
		n, err := conn.write(buf, c.Body)
		if n > 0 {
			b.clean = err == nil // otherwise an answer may still follow
			b.client.release(buf)
			return nil
		}
		b.exchange.sent.Store(false)
		_ = conn.Close()
		if !conn.used || b.exchange.reason() != nil {
			return err
		}
	}
}

// writeBeside writes the request in the background while the answer is awaited, because a provider may refuse a large
// body and stop reading.
func (b *http1Body) writeBeside(buf *[]byte, body []byte) {
	b.written = make(chan bool, 1)
	go func() {
		_, err := b.conn.write(buf, body)
		b.client.release(buf)
		b.written <- err == nil
	}()
}

func (w *http1) appendHead(dst []byte, x *exchange, c *Call, method, target string) []byte {
	dst = append(append(dst, method...), ' ')
	dst = append(append(dst, w.origin...), target...)
	dst = append(dst, w.head...)
	x.headers(c, func(name, value string) {
		dst = append(dst, name...)
		dst = append(dst, ": "...)
		dst = append(dst, value...)
		dst = append(dst, "\r\n"...)
	})
	if method == http.MethodGet {
		return append(dst, "\r\n"...)
	}
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(c.Body)), 10)
	return append(dst, "\r\n\r\n"...)
}

// connect returns a connection to write to, attached to the exchange.
func (w *http1) connect(x *exchange) (*conn, error) {
	c := w.idle.take(nil)
	if c == nil {
		var err error
		if c, err = w.dial(x); err != nil {
			return nil, err
		}
	}
	if !x.attach(c.kill) {
		_ = c.Close()
		return nil, errGivenUp
	}
	return c, nil
}

func (w *http1) dial(x *exchange) (*conn, error) {
	ctx, cancel := context.WithCancel(x.parent)
	defer cancel()
	if !x.attach(cancel) {
		return nil, errGivenUp
	}
	return w.route.dial(ctx)
}

func (w *http1) buffer() *[]byte {
	buf := w.buffers.Get().(*[]byte)
	*buf = (*buf)[:0]
	return buf
}

func (w *http1) release(buf *[]byte) {
	if cap(*buf) <= maxPooledBuffer {
		w.buffers.Put(buf)
	}
}
