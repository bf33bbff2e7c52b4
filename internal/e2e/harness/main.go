// Package harness runs a whole gateway in the process of a test, with providers
// behind it, and asks it as a program would.
package harness

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// atOnce is how many tests run at a time where nobody says otherwise: they
// wait more than they work.
const atOnce = "8"

// Main runs the tests of a package and holds that none leaves a goroutine behind.
func Main(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f != nil && f.Value.String() == f.DefValue {
		_ = f.Value.Set(atOnce) // a number, which it takes
	}
	goleak.VerifyTestMain(m)
}
