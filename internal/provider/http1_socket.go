package provider

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"weir/internal/rawio"
)

// moment is how long a socket is read if the system cannot report what has arrived.
const moment = time.Millisecond

// socket is a connection below TLS that can be read without waiting.
type socket struct {
	net.Conn
	noWait bool         // Read returns rawio.ErrNothingNow if no data has arrived
	all    *Connections // count the socket until it is closed
	closed atomic.Bool

	raw     syscall.RawConn       // nil if the system offers none
	readRaw func(fd uintptr) bool // created once; works on the fields below
	now     []byte
	n       int
	err     error
}

func newSocket(c net.Conn, all *Connections) *socket {
	s := &socket{Conn: c, raw: rawio.Of(c), all: all}
	s.readRaw = func(fd uintptr) bool {
		s.n, s.err = rawio.Read(fd, s.now)
		return true
	}
	return s
}

// Close implements net.Conn.
func (s *socket) Close() error {
	err := s.Conn.Close()
	if !s.closed.Swap(true) {
		s.all.giveBack()
	}
	return err
}

// Read implements net.Conn.
func (s *socket) Read(p []byte) (int, error) {
	switch {
	case !s.noWait:
		return s.Conn.Read(p)
	case s.raw == nil:
		return s.readBriefly(p)
	}
	s.now = p
	err := s.raw.Read(s.readRaw)
	s.now = nil
	if err != nil {
		return 0, err
	}
	return s.n, s.err
}

func (s *socket) readBriefly(p []byte) (int, error) {
	if err := s.SetReadDeadline(time.Now().Add(moment)); err != nil {
		return 0, err
	}
	n, err := s.Conn.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = rawio.ErrNothingNow
	}
	return n, errors.Join(err, s.SetReadDeadline(time.Time{}))
}
