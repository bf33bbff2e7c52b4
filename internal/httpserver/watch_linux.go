package httpserver

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"syscall"
)

// watch notices clients that disconnect while their requests are answered. The kernel reports it once for each
// connection (epoll(7): EPOLLRDHUP, edge-triggered), so that a request costs nothing.
type watch struct {
	log  *slog.Logger
	file *os.File // the epoll instance; nil if there is none

	mu    sync.Mutex
	next  uint64
	leave map[uint64]context.CancelFunc
}

// watched is the id of a connection in its watch; 0 for none.
type watched uint64

func newWatch(log *slog.Logger) *watch {
	w := &watch{log: log, leave: map[uint64]context.CancelFunc{}}
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err == nil {
		err = syscall.SetNonblock(fd, true) // so that the runtime polls it like a socket
	}
	if err != nil {
		log.Error("no epoll instance: clients that disconnect are noticed only at the next write", "err", err)
		return w
	}
	w.file = os.NewFile(uintptr(fd), "epoll")
	return w
}

// run calls the leave functions of clients that have disconnected, until the watch is closed.
func (w *watch) run() {
	if w.file == nil {
		return
	}
	raw, err := w.file.SyscallConn()
	if err != nil {
		return
	}
	events := make([]syscall.EpollEvent, 64)
	for err == nil {
		n := 0
		err = raw.Read(func(fd uintptr) bool {
			n, _ = syscall.EpollWait(int(fd), events, 0) // EINTR cannot occur without a wait
			return n > 0
		})
		for _, e := range events[:max(0, n)] {
			w.left(uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32)
		}
	}
}

func (w *watch) left(id uint64) {
	w.mu.Lock()
	leave := w.leave[id]
	w.mu.Unlock()
	if leave != nil {
		leave()
	}
}

// add calls leave when the client of a connection has disconnected.
func (w *watch) add(c *connection, leave context.CancelFunc) {
	socket, ok := c.Conn.(syscall.Conn)
	if !ok || w.file == nil {
		return
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return
	}
	w.mu.Lock()
	w.next++
	id := w.next
	w.leave[id] = leave
	w.mu.Unlock()
	c.watched = watched(id)
	e := syscall.EpollEvent{Events: syscall.EPOLLRDHUP | edgeTriggered, Fd: int32(uint32(id)), Pad: int32(id >> 32)}
	own, err := w.file.SyscallConn()
	if err != nil {
		return
	}
	var failed error
	_ = raw.Control(func(fd uintptr) {
		_ = own.Control(func(epoll uintptr) {
			failed = syscall.EpollCtl(int(epoll), syscall.EPOLL_CTL_ADD, int(fd), &e)
		})
	})
	if failed != nil {
		w.log.Warn("a client that disconnects is noticed only at the next write", "err", failed)
	}
}

// edgeTriggered is syscall.EPOLLET, which is negative.
const edgeTriggered = 1 << 31

// remove removes a connection. The kernel removes it when it is closed.
func (w *watch) remove(c *connection) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.leave, uint64(c.watched))
}

func (w *watch) close() {
	if w.file != nil {
		_ = w.file.Close()
	}
}
