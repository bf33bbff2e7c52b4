package rawio

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// Socket returns a TCP connection whose reads and writes the scheduler is not told of, because its socket does not
// block. It returns another connection as it is.
func Socket(c net.Conn) net.Conn {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return c
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return c
	}
	s := &socket{TCPConn: tcp, raw: raw}
	s.in.call, s.out.call = s.in.read, s.out.write
	return s
}

type socket struct {
	*net.TCPConn
	raw     syscall.RawConn
	in, out transfer
}

// transfer is a read or a write.
type transfer struct {
	mu   sync.Mutex
	call func(fd uintptr) bool // a method as a value, created once; works on the fields below
	p    []byte
	n    int // bytes of p that were moved
	err  error
}

// Read implements net.Conn.
func (s *socket) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	s.in.begin(p)
	return s.in.end(s.raw.Read(s.in.call))
}

// Write implements net.Conn.
func (s *socket) Write(p []byte) (int, error) {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	s.out.begin(p)
	return s.out.end(s.raw.Write(s.out.call))
}

func (t *transfer) begin(p []byte) { t.p, t.n, t.err = p, 0, nil }

// end returns the result of a transfer, for which the socket was waited for with that error.
func (t *transfer) end(waited error) (int, error) {
	t.p = nil
	if t.err == nil {
		t.err = waited
	}
	return t.n, t.err
}

func (t *transfer) read(fd uintptr) bool {
	t.n, t.err = Read(fd, t.p)
	if t.err == ErrNothingNow { //nolint:errorlint // as Read returns it
		t.err = nil
		return false
	}
	return true
}

func (t *transfer) write(fd uintptr) bool {
	for t.n < len(t.p) {
		n, errno := move(syscall.SYS_WRITE, fd, t.p[t.n:])
		switch {
		case errno == syscall.EINTR:
		case errno == syscall.EAGAIN:
			return false
		case errno != 0:
			t.err = os.NewSyscallError("write", errno)
			return true
		case n == 0:
			t.err = io.ErrUnexpectedEOF // as net.TCPConn, so that the loop ends
			return true
		default:
			t.n += n
		}
	}
	return true
}

func read(fd uintptr, p []byte) (int, error) {
	n, errno := move(syscall.SYS_READ, fd, p)
	if errno != 0 {
		return 0, errno
	}
	return n, nil
}

// WakeMonitor wakes up the runtime's monitor thread, so that a long computation can be interrupted.
func WakeMonitor() { _, _, _ = syscall.Syscall(syscall.SYS_GETPID, 0, 0, 0) }
