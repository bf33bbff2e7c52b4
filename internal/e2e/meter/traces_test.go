package meter_test

import (
	"testing"

	"weir/internal/e2e/harness"
)

// TestTelemetryShowsRequestsAsTheLedgerDoes exports traces and metrics to a receiver; deploy/check does the same with
// OpenTelemetry's collector.
func TestTelemetryShowsRequestsAsTheLedgerDoes(t *testing.T) {
	t.Parallel()
	to := harness.NewCollector(t)
	harness.CheckTelemetry(t, to.URL, to)
}
