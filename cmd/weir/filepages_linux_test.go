package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"weir/internal/must"
)

// TestFilePagesAreUnchanged checks which mappings are returned: those of the program that nobody writes and that have
// no changed pages.
func TestFilePagesAreUnchanged(t *testing.T) {
	t.Parallel()
	const maps = `00400000-01000000 r-xp 00000000 fe:00 12 /opt/we ir/weir
Size:              12288 kB
Anonymous:             0 kB
Swap:                  0 kB
SwapPss:               8 kB
VmFlags: rd ex mr mw me
01000000-02000000 r--p 00c00000 fe:00 12 /opt/we ir/weir
Anonymous:             8 kB
Swap:                  0 kB
02000000-03000000 r--p 01c00000 fe:00 12 /opt/we ir/weir
Anonymous:             0 kB
Swap:                  0 kB
03000000-03080000 r--p 02c00000 fe:00 12 /opt/we ir/weir
Anonymous:             0 kB
Swap:                  8 kB
03080000-03100000 rw-p 02c00000 fe:00 12 /opt/we ir/weir
Anonymous:             0 kB
Swap:                  0 kB
c000000000-c000400000 rw-p 00000000 00:00 0
Anonymous:             0 kB
Swap:                  0 kB
7f0000000000-7f0000001000 r--p 00000000 fe:00 13 /lib/libc.so.6
Anonymous:             0 kB
Swap:                  0 kB
`
	got := filePages(strings.NewReader(maps), "/opt/we ir/weir")
	if want := []mapping{{0x400000, 0x1000000, true}, {0x2000000, 0x3000000, false}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestFilePagesAreReturned checks that this program has such mappings, and that it runs on after they were returned.
func TestFilePagesAreReturned(t *testing.T) {
	t.Parallel()
	maps := must.Get(os.ReadFile("/proc/self/smaps"))(t)
	program := must.Get(os.Readlink("/proc/self/exe"))(t)
	if all := filePages(strings.NewReader(string(maps)), program); len(all) == 0 {
		t.Errorf("no mapping of %s in\n%s", program, maps)
	}
	returnFilePages()
	if again := must.Get(os.Readlink("/proc/self/exe"))(t); again != program {
		t.Errorf("afterwards: got the program %s, want %s", again, program)
	}
}
