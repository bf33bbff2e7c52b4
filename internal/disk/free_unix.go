//go:build linux || darwin

// Package disk is what the machine says of a disk.
package disk

import "syscall"

// Free is how many bytes a process without privileges may still write where a path is.
func Free(path string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail * uint64(s.Bsize)), nil //nolint:gosec // no disk has 2^63 bytes
}
