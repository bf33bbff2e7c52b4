//go:build !race

package worktest

// raced is true if the race detector is enabled.
const raced = false
