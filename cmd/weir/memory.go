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

// containerShare is the share of a container's memory that Go may use. The rest is for memory that the runtime does
// not count, such as thread stacks and the kernel's buffers.
const containerShare = 0.9

// limitMemory sets Go's memory limit from the container's limit, unless GOMEMLIMIT is set.
func limitMemory(root fs.FS, getenv func(string) string) {
	if getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit := containerMemory(root); limit < math.MaxInt64 {
		debug.SetMemoryLimit(int64(float64(limit) * containerShare))
	}
}

// containerMemory returns the smallest memory limit of this process' control group and its parents, in bytes, or
// math.MaxInt64 if there is none. Root is the file system. It reads both versions of control groups:
// https://docs.kernel.org/admin-guide/cgroup-v2.html, https://docs.kernel.org/admin-guide/cgroup-v1/memory.html.
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

// leastLimit returns the smallest limit of a group and its parents, up to the one at dir.
func leastLimit(root fs.FS, dir, group, file string) int64 {
	limit := int64(math.MaxInt64)
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		text, err := fs.ReadFile(root, path.Join(dir, group, file))
		if n, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && bad == nil && n > 0 {
			limit = min(limit, n) // "max" is not a number
		}
		if group == "/" {
			return limit
		}
	}
}

// Bounds of the heap's growth before a collection. A small live heap may grow by gcPercent up to littleSpare bytes: a
// request allocates little, so that collections are rare even so. A larger one doubles, so that a gateway with many
// streams collects no more often. The large one of a gateway that handles large bodies grows by at most mostSpare
// bytes, as long as that is at least leastPercent.
const (
	gcPercent    = 400
	usualPercent = 100
	leastPercent = 25
	littleSpare  = 32 << 20 // bytes
	mostSpare    = 128 << 20
	lookEvery    = 100 * time.Millisecond
)

// percentFor returns GOGC for a live heap of that many bytes: gcPercent, halved as often as needed, so that it seldom
// changes.
func percentFor(live uint64) int {
	percent := gcPercent
	for percent > usualPercent && live > 100*littleSpare/uint64(percent) ||
		percent > leastPercent && live > 100*mostSpare/uint64(percent) {
		percent /= 2
	}
	return percent
}

// Memory is returned to the system for the first time after firstQuiet with few allocations. Later it is returned after
// quietFor, if at least worthwhile bytes were allocated since the last return, and at most once every givenBackEvery.
// It is also returned if the live heap is worthwhile bytes above its minimum, because that memory may become free later
// without any allocation. Each return of the second kind doubles the wait until the next one.
const (
	firstQuiet     = time.Second
	quietFor       = 2 * time.Second
	littleAtOnce   = 1 << 20 // bytes allocated per lookEvery
	worthwhile     = 16 << 20
	givenBackEvery = 10 * time.Second
	mostPatience   = time.Hour
)

// quiet decides when to return memory to the system.
type quiet struct {
	allocated, atGivenBack uint64        // bytes since the start
	least                  uint64        // smallest live heap after a collection, in bytes; 0 before the first
	lasts, since           time.Duration // how long few allocations have lasted, and the time since memory was returned
	again                  time.Duration // wait until the live heap is checked again; 0 before the first return
}

// look runs every lookEvery, with the bytes that were allocated since the start and the live heap after the last
// collection. It reports whether to return memory.
func (q *quiet) look(allocated, live uint64) (giveBack bool) {
	q.lasts, q.since = q.lasts+lookEvery, q.since+lookEvery
	if allocated-q.allocated > littleAtOnce {
		q.lasts = 0
	}
	q.allocated = allocated
	if live > 0 && (q.least == 0 || live < q.least) {
		q.least = live
	}
	isFirst := q.again == 0
	if !isFirst && (q.lasts < quietFor || q.since < givenBackEvery) {
		return false
	}
	switch {
	case isFirst && q.lasts < firstQuiet:
		return false
	case isFirst:
		q.again = givenBackEvery
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

// boundGarbage adjusts GOGC to the live heap, and returns memory in quiet times, until ctx ends.
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
			runtime.GC() // twice, because pools retain their content for one collection
			debug.FreeOSMemory()
			returnFilePages()
		}
	}
}
