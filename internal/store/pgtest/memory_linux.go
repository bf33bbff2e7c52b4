package pgtest

import (
	"os"
	"syscall"
)

// roomInMemory is how many bytes have to be free in memory for a server to lie there: it may write
// 4 GB of logs before it removes any.
const roomInMemory = 8 << 30

// directory is where servers lie: in memory, where there is room, as tests make hundreds of
// databases; TMPDIR says otherwise.
func directory() string {
	const memory = "/dev/shm"
	var of syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(memory, &of) != nil || int64(of.Bavail)*of.Bsize < roomInMemory {
		return ""
	}
	return memory
}
