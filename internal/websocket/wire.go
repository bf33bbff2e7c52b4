package websocket

import (
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

// wire is the connection below a WebSocket. It bounds the bytes that are no content.
type wire struct {
	net.Conn

	mu       sync.Mutex
	overhead int64     // bytes that are no content, less those that the time has permitted
	at       time.Time // of overhead
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

// Read implements net.Conn.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 && w.count(n) {
		return 0, errOverhead
	}
	return n, err
}
