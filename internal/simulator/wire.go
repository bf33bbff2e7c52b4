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

// wire is the destination of an answer: a socket of net/http, or the memory of RoundTripper.
type wire interface {
	http.ResponseWriter
	http.Flusher
	// hang ends the connection before the answer is complete. Nothing may be written after it.
	hang(how hangUp, done <-chan struct{})
	// lie sends the headers with a Content-Length that differs from the body's.
	lie(length int64)
	// finish ends the answer; it is called last.
	finish()
}

// hangUp is a way to end a connection.
type hangUp uint8

const (
	hangClose hangUp = iota // both directions, properly (TCP FIN)
	hangReset               // immediately (TCP RST)
	hangHalf                // only the sending direction; the client must disconnect
)

// socket is a wire over a connection of net/http's server.
type socket struct {
	http.ResponseWriter
	conn net.Conn // hijacked from the server, for a lie
	raw  *bufio.Writer
}

// Flush sends the written bytes.
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

// take hijacks the connection from the server. It aborts a connection that cannot be hijacked (HTTP/2).
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
	_ = out.Flush() // the connection ends in any case
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	switch how {
	case hangReset:
		_ = tcp.SetLinger(0) // closing sends RST and drops unsent bytes
	case hangHalf:
		if tcp.CloseWrite() == nil {
			awaitClose(tcp, done)
		}
	}
}

// longestHalf bounds the wait of a half-closed connection for its client.
const longestHalf = 10 * time.Minute

// awaitClose returns when the other side has closed the connection, too.
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
	// A bufio.Writer keeps its error until it is flushed.
	_, _ = s.raw.WriteString("HTTP/1.1 200 OK\r\n")
	_ = header.Write(s.raw)
	_, _ = s.raw.WriteString("\r\n")
}

func (s *socket) finish() {
	if s.conn != nil {
		_ = s.raw.Flush() // the connection ends in any case
		_ = s.conn.Close()
	}
}
