package provider

import (
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"weir/internal/h1"
	"weir/internal/rawio"
)

// http1Body is one exchange on a connection, and the body of its answer after the head was read. Read reads directly
// into its caller's memory.
type http1Body struct {
	client   *http1
	exchange *exchange
	conn     *conn
	written  chan bool // result of a background write; nil without one
	fields   fields

	mu    sync.Mutex // held during Read
	frame h1.Framing
	buf   *[]byte // memory of rest; nil if there is none
	rest  []byte  // bytes received together with the head
	clean bool    // the connection can be reused when the body has ended
	err   error   // error at the end of the body
}

// reset prepares the memory for another exchange.
func (b *http1Body) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop()
	b.client, b.exchange, b.conn, b.fields, b.frame = nil, nil, nil, "", h1.Framing{}
	b.clean, b.err = false, nil
}

// readHead reads the head of the answer and determines how its body ends.
func (b *http1Body) readHead() (head, error) {
	if b.buf == nil {
		b.buf = b.client.buffer()
	}
	runtime.Gosched() // the answer may arrive meanwhile: a read without data costs a system call
	h, rest, err := readHead(b.conn, b.buf)
	if late := b.exchange.headCame(); late && (err == nil || errors.Is(err, os.ErrDeadlineExceeded)) {
		if reset := b.conn.SetReadDeadline(time.Time{}); err != nil && reset == nil {
			return h, errLate // the received part of the head stays in buf
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

// drop returns the buffer to the pool.
func (b *http1Body) drop() {
	if b.buf != nil {
		b.client.release(b.buf)
	}
	b.buf, b.rest = nil, nil
}

// Read returns data as it arrives, without the framing.
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

// take removes the framing from the bytes read, and returns the length of the rest.
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

// end ends the body and returns the connection to the pool if it can be reused.
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

// Close aborts the unfinished exchange. If only the end of the framing is unread and has arrived, the connection can be
// reused.
func (b *http1Body) Close() error {
	if b.mu.TryLock() { // otherwise a Read is waiting, which abort ends
		b.readEnd()
		b.mu.Unlock()
	}
	b.exchange.abort(errGivenUp)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.awaitWrite()
	return nil
}

// awaitWrite waits for the end of a background write after the connection was closed.
func (b *http1Body) awaitWrite() {
	if b.written != nil {
		<-b.written
		b.written = nil
	}
}

// readEnd reads the rest of a body as far as it has arrived.
func (b *http1Body) readEnd() {
	buf := b.client.buffer()
	defer b.client.release(buf)
	for range 2 { // the bytes received with the head, and those since
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
		if errors.Is(err, rawio.ErrNothingNow) {
			return
		}
		b.take(p[:n], err)
	}
}
