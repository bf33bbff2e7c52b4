//go:build unix

package worktest

import (
	"syscall"
	"time"
)

// ProcessorTime is what the process has taken of all processors so far, in its own code and
// in the kernel.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it asks of itself what every process may
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
