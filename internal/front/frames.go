package front

import (
	"errors"
	"net"
	"runtime"
	"sync/atomic"
	"time"
)

const (
	// frameTime is what each frame of a connection of HTTP/2 takes: 50,000 of them a second.
	frameTime = 20 * time.Microsecond
	// allFramesTime is what each takes of all connections together, for each processor: 25,000 a
	// second, which is about a quarter of it.
	allFramesTime = 40 * time.Microsecond
	// frameBurst is for how many frames at once nobody waits: 100 streams of two, and as many again.
	frameBurst = 400
	// slower is for how much that all are behind each connection has its frames take once more, and
	// slowest how much they can be behind.
	slower, slowest = 10 * time.Millisecond, 10 * time.Second
	// lateTime is for how long at a stretch a client may send more than is read, unless it sends
	// bodies that are read. What it has sent lies in the kernel, before word that it has left.
	lateTime = 5 * time.Second

	// frameHeader and preface are the lengths of what stands before a payload, and before the first
	// frame (RFC 9113, sections 4.1 and 3.4); headersFrame is the type that begins a stream.
	frameHeader  = 9
	preface      = 24
	headersFrame = 1
)

// pace is how far the frames of all connections are behind.
type pace struct {
	began time.Time
	each  time.Duration // what a frame takes
	due   atomic.Int64  // when, since began, all that have come would have come one by one, in nanoseconds
}

func newPace(processors int) *pace {
	return &pace{began: time.Now(), each: allFramesTime / time.Duration(processors)}
}

// take counts frames, and is how many times as long each connection has them take.
func (p *pace) take(frames int, now time.Time) time.Duration {
	at := int64(now.Sub(p.began))
	due := max(p.due.Add(int64(frames)*int64(p.each)), at)
	if at == due || due > at+int64(slowest) { // others may have counted meanwhile: theirs are few
		due = min(due, at+int64(slowest))
		p.due.Store(due)
	}
	return 1 + time.Duration(due-at)/slower
}

// framesConn is a connection of HTTP/2 over TLS. It reads no more frames in a second than a client
// needs: some kinds need no answer and have next to no bytes, and net/http takes them without end.
type framesConn struct {
	net.Conn // TLS
	below    *connection
	header   [frameHeader]byte
	got      int           // bytes of the header under way
	payload  int           // bytes that are still to come of the frame under way
	left     time.Duration // what frames may take before they wait; negative for what they are behind
	read     time.Time     // when it was left
	late     time.Time     // since when more come than are read; zero where all have been read since
}

var errFrames = errors.New("more frames of HTTP/2 than the gateway takes")

func newFramesConn(c net.Conn, below *connection) *framesConn {
	return &framesConn{Conn: c, below: below, payload: preface, left: frameBurst * frameTime, read: time.Now()}
}

// Read is net.Conn's. It waits where too many frames have come.
func (c *framesConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	frames, streams := c.count(p[:n])
	if streams > 0 {
		runtime.Gosched() // they begin before more are read
	}
	if frames > 0 && !c.wait(c.early(frames, time.Now())) {
		return 0, errFrames
	}
	return n, err
}

// count is how many frames begin in p, and how many of these begin a stream.
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

// early is how long before they may so many frames come.
func (c *framesConn) early(frames int, now time.Time) time.Duration {
	times := c.below.of.pace.take(frames, now)
	c.left, c.read = min(c.left+now.Sub(c.read)/times, frameBurst*frameTime), now
	if c.left > frameBurst*frameTime/2 {
		c.late = time.Time{}
	}
	c.left -= time.Duration(frames) * frameTime
	return -c.left * times
}

// wait waits for so long, and reports whether the connection may stay.
func (c *framesConn) wait(d time.Duration) bool {
	if d < time.Millisecond { // a timer is no more exact
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
