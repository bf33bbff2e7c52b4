//go:build !unix

package provider

import (
	"errors"
	"syscall"
)

func readNow(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }

// rawOf returns nil, so that a socket is read for a moment to find out what has arrived.
func rawOf(any) syscall.RawConn { return nil }
