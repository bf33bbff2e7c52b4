package dialect_test

import (
	"os"
	"runtime/debug"
	"testing"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // saves a quarter of the processor time
	os.Exit(m.Run())
}
