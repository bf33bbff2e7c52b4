// Package clocktest lets tests start servers with a wrong clock.
package clocktest

import (
	"fmt"
	"os"
	"path/filepath"
)

// shiftVariable names the variable with the shift of the servers' clocks, in the form of libfaketime: "+400d" or
// "-40d". Empty means no shift.
const shiftVariable = "WEIR_TEST_CLOCK_SHIFT"

// Environment returns the variables that a server's process needs in addition to os.Environ to shift its clock; none
// if no shift is set. It returns an error if libfaketime is needed and not installed (Debian: libfaketime,
// https://github.com/wolfcw/libfaketime).
func Environment() ([]string, error) {
	shift := os.Getenv(shiftVariable)
	if shift == "" {
		return nil, nil
	}
	found, _ := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1") // the pattern is valid
	if len(found) == 0 {
		return nil, fmt.Errorf("%s is %s, but libfaketime is not installed (Debian: libfaketime)", shiftVariable, shift)
	}
	// The C library's allocator is loaded before Redis's jemalloc, which reads the time while libfaketime starts.
	// Timers are not affected: the clock is wrong from the start and does not jump.
	return []string{"LD_PRELOAD=" + found[0] + " libc.so.6", "FAKETIME=" + shift, "FAKETIME_DONT_FAKE_MONOTONIC=1"}, nil
}
