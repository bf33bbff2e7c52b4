package quote

import (
	"os"
	"runtime/debug"
	"testing"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // saves a sixth of the processor time
	os.Exit(m.Run())
}
