package app_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// atOnce is how many tests run at a time where nobody says otherwise: they
// wait more than they work.
const atOnce = "8"

func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f != nil && f.Value.String() == f.DefValue {
		_ = f.Value.Set(atOnce) // a number, which it takes
	}
	goleak.VerifyTestMain(m)
}
