package h1

import (
	"net"
	"syscall"
)

// nothingNow is the error of a read when no data has arrived. It is a temporary net.Error, after which TLS can
// continue.
type nothingNow struct{}

// ErrNothingNow means that no data has arrived.
var ErrNothingNow net.Error = nothingNow{}

func (nothingNow) Error() string   { return "nothing to read now" }
func (nothingNow) Timeout() bool   { return true }
func (nothingNow) Temporary() bool { return true }

// RawOf returns the raw connection of a socket; nil if c is not a socket, or the system cannot read one without
// waiting.
func RawOf(c any) syscall.RawConn {
	s, ok := c.(syscall.Conn)
	if !ok || !readsNow {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}
