// Package websocket accepts the WebSockets of clients and opens those to providers (RFC 6455), within bounds: for the
// bytes of a message, for the frames that it may consist of, for control frames, and for the time that a message may
// take in either direction.
//
// The frames are its own: a library's cost a third of the processor time of a relayed frame and 3 KB of an idle
// connection, bounded neither the frames of a message nor the pings, and had timers for each frame. Compression is
// declined, because a compressed message needs 32 KiB of window for each direction and expands a thousandfold.
package websocket

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// Kind is the kind of a message.
type Kind byte

// The kinds of messages.
const (
	Text   Kind = 1
	Binary Kind = 2
)

// Code is the status code of a close frame (RFC 6455, section 7.4).
type Code int

// The codes that the gateway sends. OpenAI's SDK for Node connects again after GoingAway, Restart and TryLater, and
// never after the others (npm openai 7.59.0, seen on 2026-11-28).
const (
	Normal     Code = 1000
	GoingAway  Code = 1001
	BadContent Code = 1007
	Refused    Code = 1008
	TooLarge   Code = 1009
	Failed     Code = 1011
	Restart    Code = 1012
	TryLater   Code = 1013

	protocolError Code = 1002
	noCode        Code = 1005 // of a close frame without one
)

// valid reports whether a close frame may have the code (RFC 6455, section 7.4).
func (c Code) valid() bool {
	return c >= Normal && c <= 1014 && c != 1004 && c != noCode && c != 1006 || c >= 3000 && c <= 4999
}

// closeError is the error of a connection that the peer has closed.
type closeError struct {
	code   Code
	reason string
}

// Error implements error.
func (e *closeError) Error() string {
	return fmt.Sprintf("websocket: the peer has closed with code %d: %q", e.code, e.reason)
}

// ErrTooLarge means that a message exceeds Bounds.Message. The peer has been sent TooLarge.
var ErrTooLarge = errors.New("websocket: the message is too large")

// Bounds bound one connection. All fields are required.
type Bounds struct {
	Message int64 // bytes of a message
	// Read is how long the peer may take to send a message after its first frame, plus the time for its bytes at
	// leastRate.
	Read  time.Duration
	Write time.Duration // how long the peer may take to receive a message
}

const (
	// leastRate is how many bytes a second a peer must send after Bounds.Read, as for the body of a request.
	leastRate = 32 << 10
	// closeTime is how long the peer may take to answer a close frame.
	closeTime = 5 * time.Second
)

// Conn is a WebSocket. One goroutine may receive from it, and any number may send.
type Conn struct {
	wire     wire
	masks    bool // towards a server
	bounds   Bounds
	protocol string

	reading  sync.Mutex // guards all below
	data     []byte     // received and not read yet
	head     [maxControl]byte
	in       frame
	inside   bool  // a message, of which there are further frames or content
	size     int64 // of the message so far
	failed   error // the end of the connection
	until    time.Time
	came     int       // bytes since until was extended
	overhead int       // bytes that are no content, less those that content and time have permitted
	since    time.Time // when time was last counted
	pongs    int       // pings answered since pongsAt
	pongsAt  time.Time

	sends   sync.Mutex // guards all below
	headOut [maxHeadOut]byte
	said    bool // a close frame was sent

	state   sync.Mutex // guards all below
	readBy  time.Time  // the deadline of reads; zero for none
	closeBy time.Time  // the bound of readBy after a close frame; zero for none
	ping    *sentPing  // nil for none
	pinged  uint64
}

func newConn(w wire, masks bool, b Bounds, protocol string, data []byte) *Conn {
	return &Conn{wire: w, masks: masks, bounds: b, protocol: protocol, since: time.Now(), data: data}
}

// Protocol returns the subprotocol; empty for none.
func (c *Conn) Protocol() string { return c.protocol }

// Serve lets f serve the WebSocket. If the connection is one of the gateway's server, f runs when the handler has
// returned, by a goroutine of its own, so that an idle WebSocket has neither the handler's request nor its stack; ctx
// then ends when the client leaves. Else f runs at once.
func (c *Conn) Serve(ctx context.Context, f func(context.Context)) {
	if l, ok := c.wire.(interface{ Later(f func(context.Context)) }); ok {
		l.Later(f)
		return
	}
	f(ctx)
}

// Next waits for a message, however long that takes, and returns its kind and its content. Read the content until it
// returns an error before you call Next again: io.EOF at its end, ErrTooLarge, or the error of a lost connection.
func (c *Conn) Next() (Kind, io.Reader, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.inside {
		return 0, nil, c.fail(errors.New("websocket: the previous message was not read to its end"))
	}
	if c.failed != nil {
		return 0, nil, c.failed
	}
	if err := c.nextData(); err != nil {
		return 0, nil, c.fail(err)
	}
	if c.in.kind == continued {
		return 0, nil, c.fail(c.broken("a continuation of no message"))
	}
	c.inside, c.size, c.until, c.came = true, c.in.left, time.Time{}, 0
	return Kind(c.in.kind), (*message)(c), nil
}

// fail ends the connection with its first error.
func (c *Conn) fail(err error) error {
	if c.failed == nil {
		c.failed = err
		c.Abort()
	}
	return c.failed
}

// nextData reads the head of the next frame of a message, and the control frames before it.
func (c *Conn) nextData() error {
	for {
		if err := c.readFrame(); err != nil {
			return err
		}
		switch c.in.kind {
		case continued, byte(Text), byte(Binary):
			return nil
		case closing, pinging, ponging:
			if err := c.control(); err != nil {
				return err
			}
		default:
			return c.broken("an unknown kind of frame")
		}
	}
}

// receive waits for data.
func (c *Conn) receive() (err error) {
	if c.inside {
		c.limitWait()
	} else {
		c.setReadDeadline(time.Time{})
	}
	c.data, err = c.wire.Receive()
	return err
}

// limitWait begins the time for the rest of a message, when it has to be waited for.
func (c *Conn) limitWait() {
	if c.until.IsZero() {
		c.until = time.Now().Add(c.bounds.Read)
	}
	if c.came > 0 {
		c.until = c.until.Add(time.Duration(c.came) * time.Second / leastRate)
		c.came = 0
	}
	c.setReadDeadline(c.until)
}

// setReadDeadline sets the deadline of reads, at most that for the answer to a close frame.
func (c *Conn) setReadDeadline(t time.Time) {
	c.state.Lock()
	defer c.state.Unlock()
	if !c.closeBy.IsZero() && (t.IsZero() || t.After(c.closeBy)) {
		t = c.closeBy
	}
	if t != c.readBy {
		c.readBy = t
		_ = c.wire.SetReadDeadline(t)
	}
}

// Receive waits for a message and appends its content to buf.
func (c *Conn) Receive(buf []byte) (Kind, []byte, error) {
	kind, r, err := c.Next()
	for err == nil {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		var n int
		n, err = r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
	}
	if errors.Is(err, io.EOF) && r != nil {
		err = nil
	}
	return kind, buf, err
}

// message is the content of the message that a Conn reads.
type message Conn

// Read implements io.Reader.
func (m *message) Read(p []byte) (int, error) {
	c := (*Conn)(m)
	c.reading.Lock()
	defer c.reading.Unlock()
	for {
		switch {
		case c.failed != nil:
			return 0, c.failed
		case !c.inside:
			return 0, io.EOF
		case c.size > c.bounds.Message || c.size < 0:
			c.refuse(TooLarge, "the message is too large")
			return 0, c.fail(ErrTooLarge)
		case c.in.left == 0 && c.in.final:
			c.inside = false
			return 0, io.EOF
		case c.in.left > 0:
			n, err := c.content(p)
			if err != nil {
				return 0, c.fail(err)
			}
			c.came += n
			return n, c.spend(-n / overheadShare)
		}
		if err := c.nextData(); err != nil {
			return 0, c.fail(lost(err))
		}
		if c.in.kind != continued {
			return 0, c.fail(c.broken("a message inside a message"))
		}
		c.size += c.in.left
	}
}

// Send sends a message. After an error the connection is lost.
func (c *Conn) Send(kind Kind, p []byte) error { return c.write(byte(kind), p) }

// write sends a frame.
func (c *Conn) write(kind byte, p []byte) error {
	c.sends.Lock()
	defer c.sends.Unlock()
	if c.said {
		return net.ErrClosed
	}
	c.said = kind == closing
	_ = c.wire.SetWriteDeadline(time.Now().Add(c.bounds.Write))
	head, mask := c.appendHead(c.headOut[:0], kind, len(p))
	err := c.wire.Send(head, p, mask)
	_ = c.wire.SetWriteDeadline(time.Time{}) // TLS writes by itself when it reads a new key
	if err != nil {
		c.Abort()
	}
	return err
}

// A peer gets answers to mostPongs pings in pongTime. Not every ping needs one (RFC 6455, section 5.5.3).
const (
	mostPongs = 16
	pongTime  = time.Second
)

// answersPing reports whether a ping is answered.
func (c *Conn) answersPing() bool {
	if now := time.Now(); now.Sub(c.pongsAt) >= pongTime {
		c.pongs, c.pongsAt = 0, now
	}
	c.pongs++
	return c.pongs <= mostPongs
}

// Close sends a close frame with the code and the reason, of at most 123 bytes, and waits up to five seconds for its
// answer. Then it closes the connection. It may be called while others receive and send, which get an error.
func (c *Conn) Close(code Code, reason string) {
	if c.goodbye(code, reason) != nil {
		return // who has sent another close frame closes the connection
	}
	defer c.Abort()
	c.reading.Lock() // another goroutine may receive the answer
	defer c.reading.Unlock()
	if c.failed == nil {
		c.discard()
		c.failed = net.ErrClosed
	}
}

// goodbye sends a close frame, and gives the peer the time to answer it.
func (c *Conn) goodbye(code Code, reason string) error {
	c.state.Lock()
	if c.closeBy.IsZero() {
		c.closeBy = time.Now().Add(closeTime)
		c.readBy = c.closeBy
		_ = c.wire.SetReadDeadline(c.closeBy)
	}
	c.state.Unlock()
	p := binary.BigEndian.AppendUint16(nil, uint16(code))
	return c.write(closing, append(p, strings.ToValidUTF8(reason[:min(len(reason), maxReason)], "")...))
}

const maxReason = 123 // bytes (RFC 6455, section 5.5)

// Abort closes the connection at once. It may be called while others receive and send.
func (c *Conn) Abort() {
	_ = c.wire.Close()
	c.state.Lock()
	defer c.state.Unlock()
	if c.ping != nil {
		c.ping.ended <- net.ErrClosed
		c.ping = nil
	}
}

// ReasonOf returns the reason with which the peer has closed the connection; empty for none.
func ReasonOf(err error) string {
	if e, ok := errors.AsType[*closeError](err); ok {
		return e.reason
	}
	return ""
}

// CodeOf returns the code with which the peer has closed the connection; -1 if it has sent none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*closeError](err); ok {
		return e.code
	}
	return -1
}
