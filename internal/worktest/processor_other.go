//go:build !unix

package worktest

import "time"

// ProcessorTime returns 0, because it is not measured here.
func ProcessorTime() time.Duration { return 0 }
