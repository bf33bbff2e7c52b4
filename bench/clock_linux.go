package main

import (
	"syscall"
	"time"
	"unsafe"
)

// clockMonotonic is CLOCK_MONOTONIC of clock_gettime(2).
const clockMonotonic = 1

// clock is the monotonic clock of the machine, one and the same for all its
// processes. It costs no system call after its start.
type clock struct {
	start time.Time
	base  int64
}

func newClock() clock {
	var ts syscall.Timespec
	start := time.Now()
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return clock{start: start, base: start.UnixNano()} // the wall clock is shared too
	}
	return clock{start: start, base: ts.Nano()}
}

// now is the time in nanoseconds.
func (c *clock) now() int64 { return c.base + int64(time.Since(c.start)) }

// spinFor is how long before its time a sleeper wakes and spins: more than a
// virtual machine takes to wake up.
const spinFor = 200 * time.Microsecond

// sleepUntil returns at that time, to within a microsecond.
func (c *clock) sleepUntil(at int64) {
	if pause := time.Duration(at-c.now()) - spinFor; pause > 0 {
		ts := syscall.NsecToTimespec(int64(pause))
		_ = syscall.Nanosleep(&ts, nil) // cut short by a signal, the rest is spun
	}
	for c.now() < at { // a timer is too coarse
	}
}
