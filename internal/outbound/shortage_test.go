package outbound_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"weir/internal/outbound"
)

// TestIsShort checks which errors are of a machine that lacks files or memory, and which have other causes.
func TestIsShort(t *testing.T) {
	t.Parallel()
	for errno, want := range map[syscall.Errno]bool{
		syscall.EMFILE: true, syscall.ENFILE: true, syscall.ENOBUFS: true, syscall.ENOMEM: true,
		syscall.ECONNREFUSED: false, syscall.EADDRNOTAVAIL: false, syscall.EBADF: false, syscall.ENOENT: false,
	} {
		err := fmt.Errorf("listen: %w", &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", errno)})
		if got := outbound.IsShort(err); got != want {
			t.Errorf("%v: short is %t, want %t", err, got, want)
		}
		if got := outbound.EndsShort(err.Error()); got != want {
			t.Errorf("%q: short is %t, want %t", err, got, want)
		}
	}
	if outbound.IsShort(nil) || outbound.IsShort(errors.New("too many open files")) {
		t.Error("no error and a text are short, want neither")
	}
}
