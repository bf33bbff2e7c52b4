//go:build !unix

package app

import "math"

// openFiles is how many files the process may open, which is not bounded here.
func openFiles() int { return math.MaxInt32 }
