//go:build unix

package h1

import (
	"io"
	"syscall"
)

const readsNow = true

// ReadNow reads from a non-blocking socket. It returns io.EOF if the peer has closed the connection, and ErrNothingNow
// if no data has arrived.
func ReadNow(fd uintptr, p []byte) (int, error) {
	for {
		n, err := syscall.Read(int(fd), p)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return 0, ErrNothingNow
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}
