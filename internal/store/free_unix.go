//go:build linux || darwin

package store

import "syscall"

// freeDisk is how many bytes a process without privileges may still write where a path is.
func freeDisk(path string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail * uint64(s.Bsize)), nil //nolint:gosec // no disk has 2^63 bytes
}
