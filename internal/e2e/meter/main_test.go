// Package meter_test holds what the ledger says an answer used and cost to what its provider served.
package meter_test

import (
	"testing"

	"weir/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
