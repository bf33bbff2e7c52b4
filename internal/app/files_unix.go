//go:build unix

package app

import (
	"math"
	"syscall"
)

// openFiles returns the number of files that the process may open: its soft limit, which Go has raised to the hard
// limit.
func openFiles() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxInt32
	}
	return int(min(uint64(limit.Cur), math.MaxInt32))
}
