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

// long returns the first of two values with -hostile.long, otherwise the second.
func long[T any](at, otherwise T) T {
	if *longFlag {
		return at
	}
	return otherwise
}

// strict does the same with -hostile.strict.
func strict[T any](at, otherwise T) T {
	if *strictFlag {
		return at
	}
	return otherwise
}

// attackTime returns the default duration of an attack.
func attackTime() time.Duration { return long(*timeFlag, 100*time.Millisecond) }
