//go:build unix

package provider

import (
	"io"
	"syscall"
)

// readNow reads from a non-blocking socket. It returns io.EOF if the peer has closed the connection, and errNothingNow
// if no data has arrived.
func readNow(fd uintptr, p []byte) (int, error) {
	for {
		n, err := syscall.Read(int(fd), p)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return 0, errNothingNow
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// rawOf returns the raw connection of a socket; nil if c is not a socket.
func rawOf(c any) syscall.RawConn {
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}
