package httpserver

import (
	"errors"
	"net"
	"runtime"
	"sync/atomic"
	"time"
)

const (
	// frameTime is the time that one connection is charged for an HTTP/2 frame: at most 50,000 frames a second.
	frameTime = 20 * time.Microsecond
	// allFramesTime is the time that all connections together are charged for a frame, per processor: 25,000 a second,
	// which use about a quarter of it.
	allFramesTime = 40 * time.Microsecond
	// frameBurst is how many frames at once cause no wait: 100 streams of two frames, twice.
	frameBurst = 400
	// For each multiple of slower that the frames of all connections are behind, frames are charged once more; slowest
	// bounds the backlog.
	slower, slowest = 10 * time.Millisecond, 10 * time.Second
	// lateTime is how long a client may continuously send more frames than are read, unless it sends bodies that are
	// read. While its data waits in the kernel, its disconnect cannot be noticed.
	lateTime = 5 * time.Second

	// frameHeader is the length of a frame's header, preface that of the connection preface (RFC 9113, sections 4.1 and
	// 3.4); headersFrame is the type of the frame that begins a stream.
	frameHeader  = 9
	preface      = 24
	headersFrame = 1
)

// pace measures the backlog of frames of all connections.
type pace struct {
	began time.Time
	each  time.Duration // time charged for a frame
	due   atomic.Int64  // time since began, in ns, when all frames would have arrived at the allowed rate
}

func newPace(processors int) *pace {
	return &pace{began: time.Now(), each: allFramesTime / time.Duration(processors)}
}

// take counts frames, and returns the factor by which each connection is charged for them.
func (p *pace) take(frames int, now time.Time) time.Duration {
	at := int64(now.Sub(p.began))
	due := max(p.due.Add(int64(frames)*int64(p.each)), at)
	if at == due || due > at+int64(slowest) { // other connections may have counted frames meanwhile, but few
		due = min(due, at+int64(slowest))
		p.due.Store(due)
	}
	return 1 + time.Duration(due-at)/slower
}

// framesConn is an HTTP/2 connection over TLS. It limits the rate of frames that it reads, because some kinds of frames
// need no answer and have hardly any bytes, and net/http reads them without limit.
type framesConn struct {
	net.Conn // TLS
	below    *connection
	header   [frameHeader]byte
	got      int           // bytes received of the current header
	payload  int           // bytes that remain of the current frame
	left     time.Duration // time that frames may take without a wait; negative for a backlog
	read     time.Time     // when left was updated
	late     time.Time     // since when more frames arrive than are read; zero if all have been read
}

var errFrames = errors.New("too many HTTP/2 frames")

func newFramesConn(c net.Conn, below *connection) *framesConn {
	return &framesConn{Conn: c, below: below, payload: preface, left: frameBurst * frameTime, read: time.Now()}
}

// Read implements net.Conn. It waits if too many frames have arrived.
func (c *framesConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	frames, streams := c.count(p[:n])
	if streams > 0 {
		runtime.Gosched() // so that the streams begin before more frames are read
	}
	if frames > 0 && !c.wait(c.early(frames, time.Now())) {
		return 0, errFrames
	}
	return n, err
}

// count returns how many frames begin in p, and how many of them begin a stream.
func (c *framesConn) count(p []byte) (frames, streams int) {
	for len(p) > 0 {
		if c.payload > 0 {
			n := min(c.payload, len(p))
			c.payload, p = c.payload-n, p[n:]
			continue
		}
		n := copy(c.header[c.got:], p)
		if c.got, p = c.got+n, p[n:]; c.got < frameHeader {
			break
		}
		c.got, c.payload = 0, int(c.header[0])<<16|int(c.header[1])<<8|int(c.header[2])
		frames++
		if c.header[3] == headersFrame {
			streams++
		}
	}
	return frames, streams
}

// early returns how long to wait before so many frames are within the rate.
func (c *framesConn) early(frames int, now time.Time) time.Duration {
	times := c.below.of.pace.take(frames, now)
	c.left, c.read = min(c.left+now.Sub(c.read)/times, frameBurst*frameTime), now
	if c.left > frameBurst*frameTime/2 {
		c.late = time.Time{}
	}
	c.left -= time.Duration(frames) * frameTime
	return -c.left * times
}

// wait waits for d, and reports whether the connection may continue.
func (c *framesConn) wait(d time.Duration) bool {
	if d < time.Millisecond { // timers are not more precise
		return true
	}
	if c.late.IsZero() {
		c.late = time.Now()
	}
	if time.Since(c.late) > lateTime && c.below.of.age()-time.Duration(c.below.bodyRead.Load()) > lateTime {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.below.of.closed.Done():
	}
	return true
}
