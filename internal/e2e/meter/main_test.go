// Package meter_test compares the ledger's usage and cost of an answer with those that its provider served.
package meter_test

import (
	"testing"

	"weir/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
