package simulator

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// wire is what an answer is written to: a socket of net/http, or the memory of
// RoundTripper.
type wire interface {
	http.ResponseWriter
	http.Flusher
	// hang ends the connection before the answer is whole. Nothing may be
	// written after it.
	hang(how hangUp, done <-chan struct{})
	// lie sends the headers with a Content-Length that the body will not have.
	lie(length int64)
	// finish ends the answer; it comes last.
	finish()
}

// hangUp is a way to end a connection.
type hangUp uint8

const (
	hangClose hangUp = iota // both directions, in order (TCP FIN)
	hangReset               // at once (TCP RST)
	hangHalf                // the sending direction only; the client must leave
)

// socket is a wire over a connection of net/http's server.
type socket struct {
	http.ResponseWriter
	conn net.Conn // taken over from the server, for a lie
	raw  *bufio.Writer
}

// Flush sends what was written.
func (s *socket) Flush() {
	if s.raw != nil {
		_ = s.raw.Flush() // a later Write fails too
		return
	}
	if f, ok := s.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// Write writes a piece of the body.
func (s *socket) Write(b []byte) (int, error) {
	if s.raw != nil {
		return s.raw.Write(b)
	}
	return s.ResponseWriter.Write(b)
}

// take takes the connection over from the server. A connection that cannot be
// taken (HTTP/2) is aborted instead.
func (s *socket) take() (net.Conn, *bufio.Writer) {
	h, ok := s.ResponseWriter.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	conn, rw, err := h.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return conn, rw.Writer
}

func (s *socket) hang(how hangUp, done <-chan struct{}) {
	conn, out := s.conn, s.raw
	if conn == nil {
		conn, out = s.take()
	}
	s.conn, s.raw = nil, nil
	defer func() { _ = conn.Close() }()
	_ = out.Flush() // the connection ends either way
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	switch how {
	case hangReset:
		_ = tcp.SetLinger(0) // closing sends RST, what is unsent is dropped
	case hangHalf:
		if tcp.CloseWrite() == nil {
			awaitClose(tcp, done)
		}
	}
}

// longestHalf bounds how long a half-closed connection waits for its client.
const longestHalf = 10 * time.Minute

// awaitClose returns when the other side has closed the connection too.
func awaitClose(conn net.Conn, done <-chan struct{}) {
	var buf [512]byte
	for end := time.Now().Add(longestHalf); time.Now().Before(end); {
		select {
		case <-done:
			return
		default:
		}
		if conn.SetReadDeadline(time.Now().Add(200*time.Millisecond)) != nil {
			return
		}
		if _, err := conn.Read(buf[:]); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
	}
}

func (s *socket) lie(length int64) {
	header := s.Header()
	header.Set("Connection", "close")
	header.Set("Content-Length", fmt.Sprint(length))
	s.conn, s.raw = s.take()
	// Errors of a bufio.Writer stay until it is flushed.
	_, _ = s.raw.WriteString("HTTP/1.1 200 OK\r\n")
	_ = header.Write(s.raw)
	_, _ = s.raw.WriteString("\r\n")
}

func (s *socket) finish() {
	if s.conn != nil {
		_ = s.raw.Flush() // the connection ends either way
		_ = s.conn.Close()
	}
}
