// Package harness runs a whole gateway in the process of a test, with providers behind it, and sends requests to it as
// a program would.
package harness

import (
	"flag"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"
)

// atOnce is the default number of parallel tests: they wait more than they work.
const atOnce = "8"

// Main runs the tests of a package and checks that none leaks a goroutine, but for those that the options ignore.
func Main(m *testing.M, ignored ...goleak.Option) {
	debug.SetGCPercent(400) // saves a seventh of the processor time
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f != nil && f.Value.String() == f.DefValue {
		_ = f.Value.Set(atOnce) // cannot fail with a number
	}
	goleak.VerifyTestMain(m, ignored...)
}
