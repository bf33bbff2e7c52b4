//go:build linux

package loadtest_test

import (
	"flag"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var (
	secondsFlag = flag.Int("load.seconds", 3, "how long the overload lasts, 1 to 60")
	strictFlag  = flag.Bool("load.strict", false, "judge what depends on the clock, too")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func overloadTime() time.Duration { return time.Duration(min(max(*secondsFlag, 1), 60)) * time.Second }
