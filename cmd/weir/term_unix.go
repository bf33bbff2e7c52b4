//go:build linux || darwin

package main

import (
	"syscall"
	"unsafe"
)

// columnsOf returns the columns that the terminal reports, or 0.
func columnsOf(fd uintptr) int {
	var size struct{ rows, columns, x, y uint16 } // struct winsize, tty_ioctl(4)
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	if errno != 0 {
		return 0
	}
	return int(size.columns)
}
