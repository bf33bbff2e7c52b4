package main

import (
	"io/fs"
	"math"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
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
