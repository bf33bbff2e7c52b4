package ledger

import (
	"errors"
	"os"
	"syscall"
)

func reserve(f *os.File, size int64) error {
	err := syscall.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
		return fillZeros(f, size)
	}
	return err
}

// syncData calls fdatasync(2). The file's size never changes, so its other metadata need not be synced.
func syncData(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
