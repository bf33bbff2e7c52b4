package httpserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"syscall"
	"time"

	"weir/internal/rawio"
)

// upgradedInput is how many bytes are read at once after a change of the protocol: a TLS record.
const upgradedInput = 16 << 10

var errNoUpgrade = errors.New("httpserver: the request cannot change its protocol")

// Hijack implements http.Hijacker for a handler that has set the headers of a 101 answer and called WriteHeader. It
// sends that answer and returns the connection, whose deadlines may expire up to lookEvery late. Unlike in net/http the
// connection remains the server's: it is closed when the handler returns, or the function of Later, and the request's
// context still ends when the client leaves. The buffers are empty.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c := w.client
	if !w.switching || w.err != nil || !w.exchange.body.drain() || w.exchange.request.ProtoMinor == 0 {
		return nil, nil, errNoUpgrade
	}
	u := &upgraded{Conn: c.wire, client: c, rest: bytes.Clone(c.unused()), raw: rawio.Of(c.below.Conn)}
	u.read = u.tryRead
	c.at = c.end
	c.dropInput()
	c.releaseHead()
	w.err, w.status, c.last, c.lost = errOver, http.StatusSwitchingProtocols, true, true
	out := c.server.output()
	defer c.server.keep(out)
	out.b = append(out.b, "HTTP/1.1 101 Switching Protocols\r\n"...)
	for _, name := range slices.Sorted(maps.Keys(w.header)) {
		if name == "Content-Length" || name == "Content-Type" {
			continue
		}
		out.b = w.appendLines(out.b, name, w.header[name])
	}
	out.b = append(c.server.appendDate(append(out.b, "Date: "...)), "\r\n\r\n"...)
	c.below.written.setIn(lingerPause)
	_, err := u.Write(out.b)
	c.below.written.set(0)
	return u, bufio.NewReadWriter(bufio.NewReaderSize(u, 0), bufio.NewWriterSize(u, 0)), err
}

// upgraded is a connection that has changed its protocol.
type upgraded struct {
	net.Conn // the socket, or TLS over it
	client   *client1
	rest     []byte // was read before the change

	raw  syscall.RawConn       // nil if the socket cannot be read without waiting
	read func(fd uintptr) bool // tryRead as a function value, created once
	in   *buffer               // holds the result of Receive; nil for none
	n    int
	err  error
}

// Later lets f serve the connection when the handler has returned, by a goroutine of its own, whose stack no handshake
// has grown. The context ends when the client leaves, and the connection is closed when f returns.
func (u *upgraded) Later(f func(context.Context)) { u.client.later = f }

// Receive waits for data and returns it; it is valid until the next call. While it waits it holds no buffer, and the
// stack of TLS is not in use.
func (u *upgraded) Receive() ([]byte, error) {
	if rest := u.rest; len(rest) > 0 {
		u.rest = nil
		return rest, nil
	}
	if u.raw == nil {
		u.takeInput()
		u.n, u.err = u.Conn.Read(u.in.b)
	} else if err := u.raw.Read(u.read); err != nil {
		u.n, u.err = 0, err
	}
	if u.n == 0 {
		u.giveInput()
		return nil, u.err
	}
	return u.in.b[:u.n], nil // an error comes again
}

// tryRead reads what has arrived, and reports whether there was anything, or an error.
func (u *upgraded) tryRead(fd uintptr) bool {
	u.takeInput()
	u.client.below.readNow = fd
	u.n, u.err = u.Conn.Read(u.in.b)
	u.client.below.readNow = 0
	if u.n == 0 && errors.Is(u.err, rawio.ErrNothingNow) {
		u.giveInput()
		return false
	}
	return true
}

func (u *upgraded) takeInput() {
	if u.in == nil {
		u.in = u.client.server.changed.Get().(*buffer)
	}
}

func (u *upgraded) giveInput() {
	if u.in != nil {
		u.client.server.changed.Put(u.in)
		u.in = nil
	}
}

// Send writes head and content, in one write if they are not long. The mask is that of clients, and not used.
func (u *upgraded) Send(head, content []byte, _ [4]byte) error {
	out := u.client.server.output()
	defer u.client.server.keep(out)
	out.b = append(out.b, head...)
	n := min(len(content), mostPending)
	out.b = append(out.b, content[:n]...)
	_, err := u.Write(out.b)
	if err == nil && n < len(content) {
		_, err = u.Write(content[n:])
	}
	return err
}

// Read implements net.Conn.
func (u *upgraded) Read(p []byte) (int, error) {
	if len(u.rest) > 0 {
		n := copy(p, u.rest)
		if u.rest = u.rest[n:]; len(u.rest) == 0 {
			u.rest = nil
		}
		return n, nil
	}
	return u.Conn.Read(p)
}

// Close closes the socket at once, because closing TLS may wait for a client that does not read.
func (u *upgraded) Close() error { return u.client.below.Close() }

// SetReadDeadline implements net.Conn.
func (u *upgraded) SetReadDeadline(t time.Time) error {
	u.client.below.read.setAt(t)
	return nil
}

// SetWriteDeadline implements net.Conn.
func (u *upgraded) SetWriteDeadline(t time.Time) error {
	u.client.below.written.setAt(t)
	return nil
}

// SetDeadline implements net.Conn.
func (u *upgraded) SetDeadline(t time.Time) error {
	return errors.Join(u.SetReadDeadline(t), u.SetWriteDeadline(t))
}
