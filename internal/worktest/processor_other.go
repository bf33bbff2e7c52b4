//go:build !unix

package worktest

import "time"

// ProcessorTime is 0 where it is not measured.
func ProcessorTime() time.Duration { return 0 }
