//go:build !unix

package app

import "math"

// openFiles returns the largest int32, because the number of open files is not bounded here.
func openFiles() int { return math.MaxInt32 }
