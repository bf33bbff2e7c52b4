//go:build unix

package rawio

import (
	"errors"
	"io"
	"syscall"
)

const reads = true

// Read reads from a file that does not block, such as a socket. It returns io.EOF at the end of the data, as when the
// peer has closed the connection, and ErrNothingNow if no data has arrived.
func Read(fd uintptr, p []byte) (int, error) {
	for {
		n, err := read(fd, p)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			return 0, ErrNothingNow
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}
