// Package harness runs a whole gateway in the process of a test, with providers behind it, and sends requests to it as
// a program would.
package harness

import (
	"testing"

	"go.uber.org/goleak"

	"weir/internal/worktest"
)

// atOnce is the default number of parallel tests.
const atOnce = 8

// Main runs the tests of a package and checks that none leaks a goroutine, but for those that the options ignore.
func Main(m *testing.M, ignored ...goleak.Option) {
	worktest.Begin(atOnce)
	goleak.VerifyTestMain(m, ignored...)
}
