package provider

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// firstBuffer holds a small request, and then the head of its answer.
	firstBuffer = 4 << 10
	// maxPooledBuffer is the largest buffer that is kept for another exchange.
	maxPooledBuffer = 64 << 10
	// maxInlineBody is the largest body that is written before its answer is
	// read. The buffers of the sockets hold more than that, so that no provider
	// which answers early, and reads no further, is waited for.
	maxInlineBody = 64 << 10
)

// plain is an HTTP/1.1 client (RFC 9112) for one provider without TLS. It
// starts no goroutine for a connection, and a stream that waits for its next
// piece holds no buffer. A request is never sent twice: see write.
type plain struct {
	address string // host and port
	head    string // the part of every request's head that never changes
	dialer  net.Dialer
	idle    pool
	buffers sync.Pool // of *[]byte
}

// suitsPlain leaves names that need a translation to net/http.
func suitsPlain(u *url.URL) bool {
	const simple = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:[]"
	return canReadNow && u.Scheme == "http" && strings.Trim(u.Host, simple) == ""
}

func newPlain(u *url.URL, o *Options) *plain {
	port := u.Port()
	if port == "" {
		port = "80"
	}
	return &plain{
		address: net.JoinHostPort(u.Hostname(), port),
		head:    " HTTP/1.1\r\nHost: " + strings.TrimSuffix(u.Host, ":") + "\r\n",
		dialer:  net.Dialer{Timeout: o.Timeouts.Connect, Control: reach(o.AllowPrivate).Control},
		buffers: sync.Pool{New: func() any { return new(make([]byte, 0, firstBuffer)) }},
	}
}

func (w *plain) close() { w.idle.close() }

func (w *plain) send(x *exchange, c *Call, target string) (answer, error) {
	x.follow()
	b := &plainBody{wire: w, exchange: x}
	if err := b.write(c, target); err != nil {
		return answer{}, err
	}
	if c.KeepLate {
		x.keepLate(func() bool { return b.conn.SetReadDeadline(longAgo) == nil })
	}
	return b.answer()
}

// longAgo is a deadline that has passed: what waits for the connection returns.
var longAgo = time.Unix(1, 0)

// answer waits for the head of the answer. Where it is late, and goes on to be waited
// for, the error is errLate.
func (b *plainBody) answer() (answer, error) {
	h, err := b.readHead()
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

// write sends the request. It goes to a connection that was used before only
// where the peer has neither closed it nor sent anything out of turn, and is
// sent again only where not a byte of it went out: what a provider may have
// begun to serve it must not serve twice.
func (b *plainBody) write(c *Call, target string) error {
	buf := b.wire.buffer()
	*buf = b.wire.appendHead(*buf, b.exchange, c, target)
	for {
		conn, err := b.wire.connect(b.exchange)
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
			b.clean = err == nil // else there may be an answer all the same
			b.wire.release(buf)
			return nil
		}
		b.exchange.sent.Store(false)
		_ = conn.Close()
		if !conn.used || b.exchange.reason() != nil {
			return err
		}
	}
}

// writeBeside sends the request while the answer is already waited for:
// a provider may refuse a large body, and read no further.
func (b *plainBody) writeBeside(buf *[]byte, body []byte) {
	b.written = make(chan bool, 1)
	go func() {
		_, err := b.conn.write(buf, body)
		b.wire.release(buf)
		b.written <- err == nil
	}()
}

func (w *plain) appendHead(dst []byte, x *exchange, c *Call, target string) []byte {
	dst = append(dst, "POST "...)
	dst = append(dst, target...)
	dst = append(dst, w.head...)
	x.headers(c, func(name, value string) {
		dst = append(dst, name...)
		dst = append(dst, ": "...)
		dst = append(dst, value...)
		dst = append(dst, "\r\n"...)
	})
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(c.Body)), 10)
	return append(dst, "\r\n\r\n"...)
}

// connect is a connection to write to, attached to the exchange.
func (w *plain) connect(x *exchange) (*plainConn, error) {
	c := w.idle.take()
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

func (w *plain) dial(x *exchange) (*plainConn, error) {
	ctx, cancel := context.WithCancel(x.parent)
	defer cancel()
	if !x.attach(cancel) {
		return nil, errGivenUp
	}
	c, err := w.dialer.DialContext(ctx, "tcp", w.address)
	if err != nil {
		return nil, err
	}
	return newPlainConn(c)
}

func (w *plain) buffer() *[]byte {
	buf := w.buffers.Get().(*[]byte)
	*buf = (*buf)[:0]
	return buf
}

func (w *plain) release(buf *[]byte) {
	if cap(*buf) <= maxPooledBuffer {
		w.buffers.Put(buf)
	}
}
