//go:build linux || darwin

// Package disk reports the free space of a disk and what is on it.
package disk

import "syscall"

// Free returns how many bytes a process without privileges can still write at a path.
func Free(path string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail * uint64(s.Bsize)), nil //nolint:gosec // no disk has 2^63 bytes
}
