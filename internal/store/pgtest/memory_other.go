//go:build !linux

package pgtest

// directory is where servers lie: where all that is temporary does.
func directory() string { return "" }
