package httpserver

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"weir/internal/h1"
)

// body is the body of an HTTP/1.1 request.
type body struct {
	client  *client1
	mu      sync.Mutex // a handler may read the body while its answer is sent
	framing h1.Framing
	expects bool // the client waits for "100 Continue"
	over    bool // read to its end
	closed  bool
	err     error // of the last read
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	return b.read(p)
}

// IsHere reports whether all of an unread body has arrived, so that reading it waits for nothing.
func (b *body) IsHere() bool {
	return b.framing.Mode == h1.ByLength && b.framing.Left <= int64(b.client.end-b.client.at)
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}

func (b *body) read(p []byte) (n int, err error) {
	switch {
	case b.err != nil:
		return 0, b.err
	case b.over:
		return 0, io.EOF
	case len(p) == 0:
		return 0, nil
	}
	if b.expects {
		b.expects = false
		if _, err := io.WriteString(b.client.wire, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			b.err = err
			return 0, err
		}
	}
	for n == 0 && err == nil {
		n, err = b.step(p)
	}
	switch {
	case err == nil:
		return n, nil
	case b.over:
		b.client.dropInput()
	default:
		b.err = err
	}
	return n, err
}

// step reads some bytes, possibly only framing.
func (b *body) step(p []byte) (n int, err error) {
	c := b.client
	if c.at == c.end {
		if b.framing.Mode == h1.ByLength { // directly into p
			n, err = c.wire.Read(b.framing.Limit(p))
			if n > 0 {
				n, _, err = b.decode(p[:n])
				return n, err
			}
			return 0, broken(err)
		}
		if err := c.fill(); err != nil {
			return 0, broken(err)
		}
	}
	raw := p[:copy(b.framing.Limit(p), c.unused())]
	n, used, err := b.decode(raw)
	c.at += used
	return n, err
}

// decode moves the body to the front of raw, n bytes, and returns how much of raw it used.
func (b *body) decode(raw []byte) (n, used int, err error) {
	n, used, err = b.framing.Decode(raw)
	b.over = errors.Is(err, io.EOF)
	return n, used, asMalformed(err)
}

func broken(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func asMalformed(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return malformed(err.Error())
}

// drain reads the rest of the body that the handler did not read, before the answer is sent. It reports whether the
// connection can be reused. The handler must not read any more.
func (b *body) drain() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return true
	}
	b.closed = true
	if b.expects || b.err != nil || b.framing.Mode == h1.ByLength && b.framing.Left > maxDrained {
		return false
	}
	socket := b.client.below.Conn
	_ = socket.SetReadDeadline(time.Now().Add(drainTime))
	buf := b.client.server.output()
	defer b.client.server.keep(buf)
	for left := maxDrained; left > 0 && !b.over; {
		n, err := b.read(buf.b[:cap(buf.b)])
		if left -= n; err != nil {
			break
		}
	}
	_ = socket.SetReadDeadline(time.Time{})
	return b.over
}
