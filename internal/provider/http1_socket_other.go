//go:build !unix

package provider

import (
	"errors"
	"syscall"
)

func readNow(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }

// rawOf is nil: a socket is read for a moment to see what has arrived.
func rawOf(any) syscall.RawConn { return nil }
