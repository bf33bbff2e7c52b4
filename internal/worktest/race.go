//go:build race

package worktest

// raced is whether the race detector is on.
const raced = true
