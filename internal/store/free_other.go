//go:build !linux && !darwin

package store

import "math"

// freeDisk is not known here.
func freeDisk(string) (int64, error) { return math.MaxInt64, nil }
