// Package websocket accepts the WebSockets of clients and opens those to providers (RFC 6455), within bounds: for the
// bytes of a message, for the frames that it may consist of, for control frames, and for the time that a message may
// take in either direction.
//
// The frames are those of github.com/coder/websocket. It answers pings and close frames itself, starts no goroutine for
// a connection, and takes the buffers of the HTTP server. It neither bounds the frames of a message nor the pings, and
// its time limits cost a timer for each frame: wire does both. Compression is declined, because a compressed message
// needs 32 KiB of window for each direction and expands a thousandfold.
package websocket

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Kind is the kind of a message.
type Kind = websocket.MessageType

// The kinds of messages.
const (
	Text   = websocket.MessageText
	Binary = websocket.MessageBinary
)

// Code is the status code of a close frame (RFC 6455, section 7.4).
type Code = websocket.StatusCode

// The codes that the gateway sends. OpenAI's SDK for Node connects again after GoingAway, Restart and TryLater, and
// never after the others (npm openai 7.59.0, seen on 2026-11-28).
const (
	Normal    = websocket.StatusNormalClosure
	GoingAway = websocket.StatusGoingAway       // 1001
	Refused   = websocket.StatusPolicyViolation // 1008
	TooLarge  = websocket.StatusMessageTooBig   // 1009
	Failed    = websocket.StatusInternalError   // 1011
	Restart   = websocket.StatusServiceRestart  // 1012
	TryLater  = websocket.StatusTryAgainLater   // 1013
)

// ErrTooLarge means that a message exceeds Bounds.Message. The peer has been sent TooLarge.
var ErrTooLarge = websocket.ErrMessageTooBig

// Bounds bound one connection. All fields are required.
type Bounds struct {
	Message int64 // bytes of a message
	// Read is how long the peer may take to send a message after its first frame, plus the time for its bytes at
	// leastRate.
	Read  time.Duration
	Write time.Duration // how long the peer may take to receive a message
}

// leastRate is how many bytes a second a peer must send after Bounds.Read, as for the body of a request.
const leastRate = 32 << 10

// Conn is a WebSocket. One goroutine may receive from it, and any number may send.
type Conn struct {
	ws     *websocket.Conn
	wire   *wire
	bounds Bounds
	sends  sync.Mutex
}

func newConn(ws *websocket.Conn, w *wire, b Bounds) *Conn {
	ws.SetReadLimit(b.Message)
	return &Conn{ws: ws, wire: w, bounds: b}
}

// Protocol returns the subprotocol; empty for none.
func (c *Conn) Protocol() string { return c.ws.Subprotocol() }

// Next waits for a message, however long that takes, and returns its kind and its content. The content must be read
// before the next call, to an error: io.EOF at the end, ErrTooLarge, or that of a lost connection.
func (c *Conn) Next() (Kind, io.Reader, error) {
	_ = c.wire.SetReadDeadline(time.Time{})
	kind, r, err := c.ws.Reader(context.Background())
	if err != nil {
		return 0, nil, err
	}
	m := &message{conn: c, from: r, until: time.Now().Add(c.bounds.Read)}
	_ = c.wire.SetReadDeadline(m.until)
	return kind, m, nil
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

// message is the content of one message.
type message struct {
	conn  *Conn
	from  io.Reader
	until time.Time
	came  int
}

// pieceBytes is how much of a message is read at once, so that the frames of the wire are counted together with their
// content.
const pieceBytes = 16 << 10

// Read implements io.Reader.
func (m *message) Read(p []byte) (int, error) {
	n, err := m.from.Read(p[:min(len(p), pieceBytes)])
	m.conn.wire.content(n)
	if m.came += n; m.came >= leastRate && err == nil {
		m.until = m.until.Add(time.Duration(m.came) * time.Second / leastRate)
		m.came = 0
		_ = m.conn.wire.SetReadDeadline(m.until)
	}
	return n, err
}

// Send sends a message. After an error the connection is lost.
func (c *Conn) Send(kind Kind, p []byte) error {
	c.sends.Lock()
	defer c.sends.Unlock()
	_ = c.wire.SetWriteDeadline(time.Now().Add(c.bounds.Write))
	c.wire.begin(len(p))
	err := errors.Join(c.ws.Write(context.Background(), kind, p), c.wire.end())
	_ = c.wire.SetWriteDeadline(time.Time{})
	if err != nil {
		c.Abort()
	}
	return err
}

// Ping sends a ping and waits for its answer, for which another goroutine must receive. If ctx ends first, the
// connection is lost.
func (c *Conn) Ping(ctx context.Context) error {
	err := c.ws.Ping(ctx)
	if err != nil {
		c.Abort()
	}
	return err
}

// Close sends a close frame with the code and the reason, of at most 123 bytes, and waits up to five seconds for its
// answer. Then it closes the connection. It may be called while others receive and send, which get an error.
func (c *Conn) Close(code Code, reason string) {
	_ = c.ws.Close(code, reason[:min(len(reason), maxReason)])
}

const maxReason = 123 // bytes (RFC 6455, section 5.5)

// Abort closes the connection at once. It may be called while others receive and send.
func (c *Conn) Abort() { _ = c.wire.Close() }

// CodeOf returns the code with which the peer has closed the connection; -1 if it has sent none.
func CodeOf(err error) Code { return websocket.CloseStatus(err) }
