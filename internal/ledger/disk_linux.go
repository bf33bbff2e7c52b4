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
