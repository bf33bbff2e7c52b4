// Package rawio reads and writes without waiting, and without telling Go's scheduler, which expects a system call to
// block.
//
// In a process that was idle, the first call that the scheduler is told of wakes up the runtime's monitor thread, which
// then looks each 20 µs by its clock, 70 µs by the kernel's, whether a call blocks, as long as the process works. On
// one processor it looks in place of the request. Without the monitor, nothing interrupts a goroutine that computes for
// long: WakeMonitor wakes it up before.
package rawio

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

// Of returns the raw connection of a socket; nil if c is not a socket, or the system cannot read one without waiting.
func Of(c any) syscall.RawConn {
	s, ok := c.(syscall.Conn)
	if !ok || !reads {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}
