//go:build unix && !linux

package rawio

import "syscall"

func read(fd uintptr, p []byte) (int, error) { return syscall.Read(int(fd), p) }
