//go:build !race

package rawio

import (
	"syscall"
	"unsafe"
)

// move reads or writes, and does not tell the scheduler.
func move(call, fd uintptr, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}
