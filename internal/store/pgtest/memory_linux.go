package pgtest

import (
	"os"
	"syscall"
)

// roomInMemory is the free memory, in bytes, that a server's files need to be in memory: it may write 4 GB of logs
// before it removes any.
const roomInMemory = 8 << 30

// directory returns the directory of the servers' files: in memory if there is room, because tests make hundreds of
// databases. TMPDIR overrides it.
func directory() string {
	const memory = "/dev/shm"
	var of syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(memory, &of) != nil || int64(of.Bavail)*of.Bsize < roomInMemory {
		return ""
	}
	return memory
}
