//go:build unix

package worktest

import (
	"syscall"
	"time"
)

// ProcessorTime returns the time that the process has used on all processors, in its own code and in the kernel.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // cannot fail for the calling process
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
