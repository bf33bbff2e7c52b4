//go:build linux

package hostiletest_test

import (
	"flag"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var (
	timeFlag   = flag.Duration("hostile.time", 2*time.Second, "how long an attack lasts with -hostile.long that does not say otherwise")
	longFlag   = flag.Bool("hostile.long", false, "attack at length, and judge what garbage is left")
	strictFlag = flag.Bool("hostile.strict", false, "judge what depends on how fast the machine is and what else it does, too; with -hostile.long")
	binaryFlag = flag.String("hostile.binary", "", "the weir to attack; empty: the one of this source")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// long is the first of two values with -hostile.long, else the second.
func long[T any](at, otherwise T) T {
	if *longFlag {
		return at
	}
	return otherwise
}

// strict is likewise the first with -hostile.strict.
func strict[T any](at, otherwise T) T {
	if *strictFlag {
		return at
	}
	return otherwise
}

// attackTime is how long an attack lasts that does not say otherwise.
func attackTime() time.Duration { return long(*timeFlag, 100*time.Millisecond) }
