package route

import (
	"testing"
	"time"
)

// TestTrafficCountsLastHour checks that only the last hour counts, in parts of five minutes.
func TestTrafficCountsLastHour(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 34, 56, 0, time.UTC)
	var tr traffic
	tr.note(now.Add(-2*time.Hour), true, 0)
	tr.note(now.Add(-60*time.Minute), true, 0)
	tr.note(now.Add(-59*time.Minute), false, 100*time.Millisecond)
	tr.note(now.Add(-3*time.Minute), true, 0)
	tr.note(now, false, 300*time.Millisecond)
	got := tr.hour(now)
	if got.Attempts != 3 || got.Failed != 1 || got.FirstToken != 200*time.Millisecond {
		t.Errorf("got %+v, want 3 attempts, 1 failed, a first token after 200 ms", got)
	}
	if len(got.Parts) != 12 || got.Parts[0] != (TrafficPart{1, 0}) || got.Parts[11] != (TrafficPart{2, 1}) {
		t.Errorf("got the parts %+v, want one attempt in the first, two in the last", got.Parts)
	}
	if later := tr.hour(now.Add(time.Hour)); later.Attempts != 0 {
		t.Errorf("an hour later: got %+v, want nothing", later)
	}
}
