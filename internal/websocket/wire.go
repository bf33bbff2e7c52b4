package websocket

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

const (
	// A peer may send freeOverhead bytes that are no content of messages, such as heads of frames and pings, and
	// overheadRate more a second, plus 1/overheadShare of the content. A ping has 6 to 131 bytes, and a frame without
	// content 6: a message in frames of 48 bytes or more is never refused.
	freeOverhead  = 16 << 10
	overheadRate  = 1 << 10
	overheadShare = 8
	// readAhead is how many bytes of content may have been read before they are counted as content.
	readAhead = pieceBytes + 4<<10
)

// errOverhead is the error of a peer that sends too many frames for their content.
var errOverhead = errors.New("websocket: too many control frames, or frames that are too short")

// wire is the connection below a WebSocket. It bounds the bytes that are no content, and sends a message in one write,
// although the WebSocket has a small buffer.
type wire struct {
	net.Conn
	out outgoing

	mu       sync.Mutex
	overhead int64     // bytes that are no content, less those that the time has permitted
	at       time.Time // of overhead
	pongs    int       // pings answered since ponged
	ponged   time.Time
}

// A peer gets answers to mostPongs pings in pongTime. Not every ping needs one (RFC 6455, section 5.5.3).
const (
	mostPongs = 16
	pongTime  = time.Second
)

// answersPing reports whether a ping is answered.
func (w *wire) answersPing(context.Context, []byte) bool {
	now := time.Now()
	if now.Sub(w.ponged) >= pongTime {
		w.pongs, w.ponged = 0, now
	}
	w.pongs++
	return w.pongs <= mostPongs
}

func newWire(c net.Conn) *wire { return &wire{Conn: c, at: time.Now()} }

// content counts n bytes of content.
func (w *wire) content(n int) { w.count(-n - n/overheadShare) }

// count adds n bytes, which may be negative, and returns whether the peer has sent too many.
func (w *wire) count(n int) (over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.overhead += int64(n); w.overhead <= 0 {
		w.overhead, w.at = 0, time.Now()
		return false
	}
	if w.overhead <= freeOverhead+readAhead {
		return false
	}
	now := time.Now()
	w.overhead -= int64(now.Sub(w.at) * overheadRate / time.Second)
	w.at = now
	return w.overhead > freeOverhead+readAhead
}

// outgoing is a message that is being sent.
type outgoing struct {
	mu        sync.Mutex
	collects  bool
	collected []byte
}

// mostCollected is the longest message that is collected, in bytes.
const mostCollected = 16 << 10

// begin collects what is written from now on, until end, if the message of n bytes is not long.
func (w *wire) begin(n int) {
	w.out.mu.Lock()
	defer w.out.mu.Unlock()
	if n <= mostCollected {
		w.out.collects, w.out.collected = true, make([]byte, 0, n+16) // with the head of a frame
	}
}

// end writes what was collected.
func (w *wire) end() (err error) {
	w.out.mu.Lock()
	defer w.out.mu.Unlock()
	if len(w.out.collected) > 0 {
		_, err = w.Conn.Write(w.out.collected)
	}
	w.out.collects, w.out.collected = false, nil
	return err
}

// Write implements net.Conn. Control frames may be written while a message is.
func (w *wire) Write(p []byte) (int, error) {
	w.out.mu.Lock()
	defer w.out.mu.Unlock()
	if !w.out.collects {
		return w.Conn.Write(p)
	}
	w.out.collected = append(w.out.collected, p...)
	return len(p), nil
}

// Read implements net.Conn.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 && w.count(n) {
		return 0, errOverhead
	}
	return n, err
}
