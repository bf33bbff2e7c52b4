//go:build !linux

package pgtest

// directory returns the directory of the servers' files: the one for temporary files.
func directory() string { return "" }
