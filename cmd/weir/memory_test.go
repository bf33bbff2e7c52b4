package main

import (
	"math"
	"testing"
	"testing/fstest"
)

// TestContainerMemory reads the limits of control groups of both versions.
func TestContainerMemory(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"no control groups": {nil, math.MaxInt64},
		"version 2, unlimited": {map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n",
		}, math.MaxInt64},
		"version 2, in a container": {map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n",
		}, 512 << 20},
		"version 2, less around it": {map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "1000\n", "sys/fs/cgroup/memory.max": "2000\n",
		}, 1000},
		"version 1": {map[string]string{
			"proc/self/cgroup": "5:cpu:/x\n4:memory:/docker/1\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "1000\n",
		}, 1000},
		"garbage": {map[string]string{
			"proc/self/cgroup": "0::../../x\nhello\n", "sys/fs/cgroup/memory.max": "-5",
		}, math.MaxInt64},
	} {
		root := fstest.MapFS{}
		for file, text := range tt.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := containerMemory(root); got != tt.want {
			t.Errorf("%s: got %d, want %d", name, got, tt.want)
		}
	}
}

// TestPercentFor checks that a heap grows by more than littleSpare only if it doubles, and by more than mostSpare only
// by leastPercent.
func TestPercentFor(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	for live, want := range map[uint64]int{
		0: gcPercent, 8 * mb: gcPercent, 9 * mb: 200, 17 * mb: 100, 128 * mb: 100, 129 * mb: 50, 400 * mb: 25, 1 << 40: 25,
	} {
		got := percentFor(live)
		spare := live * uint64(got) / 100
		if got != want || spare > littleSpare && got > usualPercent || spare > mostSpare && got > leastPercent {
			t.Errorf("%d MB live: got %d %%, want %d", live>>20, got, want)
		}
	}
}

// TestMemoryIsReturnedWhenQuiet checks when memory is returned: not while much is allocated, nor for little, nor again
// and again; and once more if much was live then.
func TestMemoryIsReturnedWhenQuiet(t *testing.T) {
	t.Parallel()
	var q quiet
	const small, large = 20 << 20, 100 << 20
	allocated, given := uint64(0), 0
	look := func(times int, each, live uint64) int {
		given = 0
		for range times {
			if allocated += each; q.look(allocated, live) {
				given++
			}
		}
		return given
	}
	for _, tt := range []struct {
		name  string
		times int
		each  uint64
		live  uint64
		want  int
	}{
		{"a start", 100, 100 << 10, 0, 1},
		{"much to do", 200, 2 << 20, small, 0},
		{"nothing to do", 600, 0, small, 1},
		{"little to do for a minute", 600, 500 << 10, small, 6},
		{"much to do once more", 100, 2 << 20, large, 0},
		{"nothing to do, and much lives", 150, 0, large, 2},
		{"it does not live any more", 600, 0, small, 0},
		{"much to do for the third time", 100, 2 << 20, large, 0},
		{"much lives for an hour: after 0, 10, 30, 70, … seconds", 36000, 0, large, 9},
	} {
		if got := look(tt.times, tt.each, tt.live); got != tt.want {
			t.Errorf("%s: memory was returned %d times, want %d", tt.name, got, tt.want)
		}
	}
}
