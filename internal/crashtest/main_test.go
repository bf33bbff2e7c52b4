//go:build unix

package crashtest_test

import (
	"flag"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var (
	killsFlag = flag.Int("crash.kills", 0, "how often the gateway is killed; 0 is 8, or 3 with -short")
	seedFlag  = flag.Uint64("crash.seed", 0, "seed of the load and of the kills; 0 is one from the clock")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func kills() int {
	switch {
	case *killsFlag > 0:
		return *killsFlag
	case testing.Short():
		return 3
	}
	return 8
}

func seed() uint64 {
	if *seedFlag != 0 {
		return *seedFlag
	}
	return uint64(time.Now().UnixNano())
}
