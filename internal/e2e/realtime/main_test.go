// Package realtime_test checks sessions of the Realtime API against the simulator's account of them.
package realtime_test

import (
	"testing"

	"weir/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
