package main

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"time"
)

// socketTimeout bounds whatever blocks on a socket.
const socketTimeout = 5 * time.Second

var errBlocked = errors.New("the socket would block")

// dialTries is how often a connection is begun that a signal interrupts, such as
// those by which Go takes turns.
const dialTries = 5

// dial opens a connection, with a bound on each of its operations.
func dial(to netip.AddrPort) (fd int, err error) {
	for range dialTries {
		if fd, err = dialOnce(to); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	return fd, err
}

func dialOnce(to netip.AddrPort) (fd int, err error) {
	fd, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("socket: %w", err)
	}
	defer func() {
		if err != nil {
			_ = syscall.Close(fd)
		}
	}()
	limit := syscall.NsecToTimeval(int64(socketTimeout))
	err = errors.Join(
		syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1),
		syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_SNDTIMEO, &limit),
		syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &limit),
	)
	if err != nil {
		return -1, fmt.Errorf("socket options: %w", err)
	}
	peer := &syscall.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	if err := syscall.Connect(fd, peer); err != nil {
		return -1, fmt.Errorf("connect to %s: %w", to, err)
	}
	return fd, nil
}

// send writes all of p, which the empty buffer of a socket takes at once.
func send(fd int, p []byte) error {
	n, err := syscall.Write(fd, p)
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if n < len(p) {
		return fmt.Errorf("write: %w after %d bytes", errBlocked, n)
	}
	return nil
}

// receive reads what is there: errBlocked where nothing is, and n == 0 at the
// end of the connection, as read(2) has it.
func receive(fd int, p []byte) (n int, err error) {
	n, err = syscall.Read(fd, p)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EINTR):
		return 0, errBlocked
	}
	return 0, fmt.Errorf("read: %w", err)
}
