// Package clocktest lets the servers that tests start run on a clock that is wrong.
package clocktest

import (
	"fmt"
	"os"
	"path/filepath"
)

// shiftVariable says by how much the clocks of servers are wrong, as libfaketime takes
// it: "+400d" or "-40d". Empty is not at all.
const shiftVariable = "WEIR_TEST_CLOCK_SHIFT"

// Environment is what a server's process has in its environment beside os.Environ:
// nothing, or what shifts its clock. It is an error where the clock is to be shifted
// and libfaketime (Debian: libfaketime) is not there. Its page:
// https://github.com/wolfcw/libfaketime.
func Environment() ([]string, error) {
	shift := os.Getenv(shiftVariable)
	if shift == "" {
		return nil, nil
	}
	found, _ := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1") // the pattern is sound
	if len(found) == 0 {
		return nil, fmt.Errorf("%s is %s, and libfaketime is not installed (Debian: libfaketime)", shiftVariable, shift)
	}
	// The C library's allocator comes before jemalloc, Redis's, which asks for the time
	// while libfaketime begins. Timers go on as they are: a wrong clock is one that was
	// set, not one that jumps.
	return []string{"LD_PRELOAD=" + found[0] + " libc.so.6", "FAKETIME=" + shift, "FAKETIME_DONT_FAKE_MONOTONIC=1"}, nil
}
