package httpserver

import (
	"bufio"
	"bytes"
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"
)

// The sizes of the buffers of a connection that has changed its protocol, in bytes. An idle one holds both.
const (
	upgradedInput  = 256
	upgradedOutput = 256
)

var errNoUpgrade = errors.New("httpserver: the request cannot change its protocol")

// Hijack implements http.Hijacker for a handler that has set the headers of a 101 answer and called WriteHeader. It
// sends that answer and returns the connection, whose deadlines may expire up to lookEvery late. Unlike in net/http the
// connection remains the server's: it is closed when the handler returns, and the request's context still ends when the
// client leaves.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c := w.client
	if !w.switching || w.err != nil || !w.exchange.body.drain() || w.exchange.request.ProtoMinor == 0 {
		return nil, nil, errNoUpgrade
	}
	u := &upgraded{Conn: c.wire, below: c.below, rest: bytes.Clone(c.unused())}
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
	return u, bufio.NewReadWriter(bufio.NewReaderSize(u, upgradedInput), bufio.NewWriterSize(u, upgradedOutput)), err
}

// upgraded is a connection that has changed its protocol.
type upgraded struct {
	net.Conn // the socket, or TLS over it
	below    *connection
	rest     []byte // was read before the change
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
func (u *upgraded) Close() error { return u.below.Close() }

// SetReadDeadline implements net.Conn.
func (u *upgraded) SetReadDeadline(t time.Time) error {
	u.below.read.setAt(t)
	return nil
}

// SetWriteDeadline implements net.Conn.
func (u *upgraded) SetWriteDeadline(t time.Time) error {
	u.below.written.setAt(t)
	return nil
}

// SetDeadline implements net.Conn.
func (u *upgraded) SetDeadline(t time.Time) error {
	return errors.Join(u.SetReadDeadline(t), u.SetWriteDeadline(t))
}
