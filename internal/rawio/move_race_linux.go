//go:build race

package rawio

import "syscall"

// move reads or writes by the calls that the race detector knows: what was written before a message was sent is seen by
// its receiver.
func move(call, fd uintptr, p []byte) (int, syscall.Errno) {
	do := syscall.Write
	if call == syscall.SYS_READ {
		do = syscall.Read
	}
	n, err := do(int(fd), p)
	errno, _ := err.(syscall.Errno) //nolint:errorlint // as do returns it
	return n, errno
}
