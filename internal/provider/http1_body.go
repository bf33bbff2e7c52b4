package provider

import (
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"weir/internal/h1"
)

// http1Body is one exchange on a connection: its answer's body once the head
// is read. Read reads straight into its caller's memory.
type http1Body struct {
	client   *http1
	exchange *exchange
	conn     *conn
	written  chan bool // whether a write beside succeeded; nil where there was none
	fields   fields

	mu    sync.Mutex // held by a Read
	frame h1.Framing
	buf   *[]byte // the memory of rest; nil where there is none
	rest  []byte  // what came along with the head
	clean bool    // the connection may be used again once the body has ended
	err   error   // what the body ended with
}

// readHead reads the head of the answer and finds out how its body ends.
func (b *http1Body) readHead() (head, error) {
	if b.buf == nil {
		b.buf = b.client.buffer()
	}
	runtime.Gosched() // the answer may come meanwhile: a read that finds none costs a system call
	h, rest, err := readHead(b.conn, b.buf)
	if late := b.exchange.headCame(); late && (err == nil || errors.Is(err, os.ErrDeadlineExceeded)) {
		if reset := b.conn.SetReadDeadline(time.Time{}); err != nil && reset == nil {
			return h, errLate // what has come of the head stays in buf
		}
	}
	if err != nil {
		b.drop()
		return h, err
	}
	b.fields, b.frame, b.rest = h.fields.kept(), h.framing(), rest
	b.clean = b.clean && h.keepAlive
	switch {
	case b.frame.Over():
		b.clean = b.clean && len(rest) == 0
		b.end(io.EOF)
	case len(rest) == 0:
		b.drop()
	}
	return h, nil
}

// drop gives the buffer back.
func (b *http1Body) drop() {
	if b.buf != nil {
		b.client.release(b.buf)
	}
	b.buf, b.rest = nil, nil
}

// Read hands on what arrives as it arrives, and never the framing around it.
func (b *http1Body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.err == nil && len(p) > 0 {
		raw, err := b.readRaw(b.frame.Limit(p))
		n := b.take(p[:raw], err)
		if n > 0 {
			return n, b.err
		}
	}
	return 0, b.err
}

func (b *http1Body) readRaw(p []byte) (int, error) {
	if len(b.rest) == 0 {
		return b.conn.Read(p)
	}
	n := copy(p, b.rest)
	if b.rest = b.rest[n:]; len(b.rest) == 0 {
		b.drop()
	}
	return n, nil
}

// take takes the framing out of what was read, and gives how much is left.
func (b *http1Body) take(raw []byte, err error) int {
	n, used, frameErr := b.frame.Decode(raw)
	switch {
	case frameErr != nil:
		b.clean = b.clean && err == nil && used == len(raw) && len(b.rest) == 0
		b.end(frameErr)
	case errors.Is(err, io.EOF):
		b.clean = false
		b.end(b.frame.Closed())
	case err != nil:
		b.end(err)
	}
	return n
}

// end ends the body, and gives the connection to the next exchange where it
// is in order.
func (b *http1Body) end(err error) {
	b.err = err
	b.drop()
	if errors.Is(err, io.EOF) && b.clean && b.isWritten() && b.exchange.detach() {
		b.client.idle.put(b.conn)
	}
}

func (b *http1Body) isWritten() bool {
	if b.written == nil {
		return true
	}
	select {
	case ok := <-b.written:
		b.written = nil
		return ok
	default:
		return false
	}
}

// Close aborts what is unfinished of the exchange. Where only the end of the
// framing was left to read, and is there, the connection can be used again.
func (b *http1Body) Close() error {
	if b.mu.TryLock() { // else a Read waits, which the abort ends
		b.readEnd()
		b.mu.Unlock()
	}
	b.exchange.abort(errGivenUp)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.awaitWrite()
	return nil
}

// awaitWrite waits for the end of a write beside, once the connection is closed.
func (b *http1Body) awaitWrite() {
	if b.written != nil {
		<-b.written
		b.written = nil
	}
}

// readEnd reads what has arrived of a body that nobody wants any more.
func (b *http1Body) readEnd() {
	buf := b.client.buffer()
	defer b.client.release(buf)
	for range 2 { // what came along with the head, and what came since
		if b.err != nil {
			return
		}
		var n int
		var err error
		p := b.frame.Limit((*buf)[:cap(*buf)])
		if len(b.rest) > 0 {
			n, err = b.readRaw(p)
		} else {
			n, err = b.conn.readNow(p)
		}
		if errors.Is(err, errNothingNow) {
			return
		}
		b.take(p[:n], err)
	}
}
