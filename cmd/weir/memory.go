package main

import (
	"context"
	"io/fs"
	"math"
	"path"
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

// boundGarbage keeps GOGC to what lives until ctx ends.
func boundGarbage(ctx context.Context) {
	every := time.NewTicker(lookEvery)
	defer every.Stop()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for percent := gcPercent; ; {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		metrics.Read(live)
		if next := percentFor(live[0].Value.Uint64()); next != percent {
			percent = next
			debug.SetGCPercent(percent)
		}
	}
}
