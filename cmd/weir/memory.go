package main

import (
	"context"
	"io/fs"
	"math"
	"path"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// containerShare is how much of a container's memory Go may use: the rest is for what the
// runtime does not count, such as thread stacks and the kernel's buffers.
const containerShare = 0.9

// limitMemory sets GOMEMLIMIT from the container's memory, unless somebody has set it.
func limitMemory(root fs.FS, getenv func(string) string) {
	if getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit := containerMemory(root); limit < math.MaxInt64 {
		debug.SetMemoryLimit(int64(float64(limit) * containerShare))
	}
}

// containerMemory is the least memory limit of this process' control group and those around
// it, in bytes; math.MaxInt64 for none. Root is the file system. Both versions of control
// groups are read: https://docs.kernel.org/admin-guide/cgroup-v2.html,
// https://docs.kernel.org/admin-guide/cgroup-v1/memory.html.
func containerMemory(root fs.FS) int64 {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return math.MaxInt64
	}
	limit := int64(math.MaxInt64)
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // id, controllers, path
		if len(parts) < 3 {
			continue
		}
		switch parts[1] {
		case "":
			limit = min(limit, leastLimit(root, "sys/fs/cgroup", parts[2], "memory.max"))
		case "memory":
			limit = min(limit, leastLimit(root, "sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes"))
		}
	}
	return limit
}

// leastLimit is the least of the limits of a group and those around it, up to the one at dir.
func leastLimit(root fs.FS, dir, group, file string) int64 {
	limit := int64(math.MaxInt64)
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		text, err := fs.ReadFile(root, path.Join(dir, group, file))
		if n, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && bad == nil && n > 0 {
			limit = min(limit, n) // "max" is no number
		}
		if group == "/" {
			return limit
		}
	}
}

// How much a heap may grow before it is collected: to gcPercent more than what lives, and by
// mostSpare at most while that is leastPercent or more. Little lives in a gateway that is well,
// and collecting it costs more than the memory; what lives in one that is given large bodies
// would be resident five times over.
const (
	gcPercent    = 400
	leastPercent = 25
	mostSpare    = 128 << 20 // bytes
	lookEvery    = 100 * time.Millisecond
)

// percentFor is GOGC for a heap of which so many bytes live: gcPercent, or that by as many
// halves as it takes, so that it seldom changes.
func percentFor(live uint64) int {
	percent := gcPercent
	for percent > leastPercent && live > 100*mostSpare/uint64(percent) {
		percent /= 2
	}
	return percent
}

// When memory is given back to the system: once little was allocated for quietFor, of what has been
// allocated since it last was at least worthwhile, and no more often than givenBackEvery. Once more
// where as much more lives then as ever was the least: it may be let go of a little later, without
// anything being allocated. Each such look that finds the same waits twice as long for the next.
const (
	quietFor       = 2 * time.Second
	littleAtOnce   = 1 << 20 // bytes in lookEvery
	worthwhile     = 16 << 20
	givenBackEvery = 10 * time.Second
	mostPatience   = time.Hour
)

// quiet decides when memory is given back.
type quiet struct {
	allocated, atGivenBack uint64        // bytes since the start
	least                  uint64        // bytes that lived after a collection; 0 before the first
	lasts, since           time.Duration // of the quiet, and since memory was given back
	again                  time.Duration // from one look at what lives to the next
}

// look is told how many bytes have been allocated since the start, and how many lived after the
// last collection, every lookEvery.
func (q *quiet) look(allocated, live uint64) (giveBack bool) {
	q.lasts, q.since = q.lasts+lookEvery, q.since+lookEvery
	if allocated-q.allocated > littleAtOnce {
		q.lasts = 0
	}
	q.allocated = allocated
	if live > 0 && (q.least == 0 || live < q.least) {
		q.least = live
	}
	if q.lasts < quietFor || q.since < givenBackEvery {
		return false
	}
	switch {
	case allocated-q.atGivenBack >= worthwhile:
		q.again = givenBackEvery
	case live >= q.least+worthwhile && q.since >= q.again:
		q.again = min(2*q.again, mostPatience)
	default:
		return false
	}
	q.atGivenBack, q.since = allocated, 0
	return true
}

// boundGarbage keeps GOGC to what lives, and gives memory back when there is little to do, until ctx ends.
func boundGarbage(ctx context.Context) {
	every := time.NewTicker(lookEvery)
	defer every.Stop()
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
	var q quiet
	for percent := gcPercent; ; {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		metrics.Read(samples)
		if next := percentFor(samples[0].Value.Uint64()); next != percent {
			percent = next
			debug.SetGCPercent(percent)
		}
		if q.look(samples[1].Value.Uint64(), samples[0].Value.Uint64()) {
			runtime.GC() // what pools have they keep for one more
			debug.FreeOSMemory()
		}
	}
}
