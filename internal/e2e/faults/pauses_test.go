package faults_test

import (
	"slices"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/report"
)

// TestDurationsEndBeforePauses checks that the pause before a retry is no part of the failed attempt's duration.
func TestDurationsEndBeforePauses(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: strings.ReplaceAll(harness.ProvidersYAML(up.URL), "retries: 0", "retries: 2")})
	h.Chat("house/chat:status=500")
	var attempts []ledger.Entry
	h.EachEntry(func(e *report.Exported) { attempts = append(attempts, e.Entry) })
	slices.SortFunc(attempts, func(a, b ledger.Entry) int { return int(a.ID.N) - int(b.ID.N) })
	if len(attempts) < 2 {
		t.Fatalf("got %d attempts, want a retry", len(attempts))
	}
	for i := range attempts[1:] {
		ended, begun := attempts[i].Opened.Add(attempts[i].Duration), attempts[i+1].Opened
		if attempts[i].Duration <= 0 || !ended.Before(begun) {
			t.Errorf("attempt %d: got the end %v after a duration of %v, want it before the next attempt at %v", i+1, ended, attempts[i].Duration, begun)
		}
	}
}
