// Package meter_test compares the ledger's usage and cost of an answer with those that its provider served, and measures
// how much of agents' sessions providers read from their prompt caches.
package meter_test

import (
	"testing"

	"weir/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
