package realtime_test

import (
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// TestEachResponseIsRowByClass checks rows, one for each response, against the simulator's account: by text, by turns
// that the provider detects, and with a cache.
func TestEachResponseIsRowByClass(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	s := open(t, h, "?model=house/echo:sound=1s,cached=2", nil)
	s.await("session.created")
	s.say("Hello")
	first := s.await("response.done")
	s.speak(1000, 600)
	s.await("response.done")
	s.speak(2500, 600)
	s.await("response.done")
	s.conn.Abort()
	rows, truth := h.SettledSession(s.id, 3), served(up, s.id)
	if len(truth) != 3 {
		t.Fatalf("the provider served %d responses, want 3: %s", len(truth), s.types())
	}
	for i := range truth {
		want := truth[i].Usage
		want[llm.Requests] = 1
		if got := rows[i]; got.Usage != want || got.Cost != costOf(&truth[i].Usage) || got.Provenance != ledger.Exact ||
			!got.Counts || got.Model != "echo:sound=1s,cached=2" {
			t.Errorf("row %d: %v for %v as %s, want %v for %v", i, got.Usage, got.Cost, got.Provenance, want,
				costOf(&truth[i].Usage))
		}
	}
	if status := first["response"].(map[string]any)["status"]; status != "completed" {
		t.Errorf("the first response is %v, want completed", status)
	}
	if n := s.count("session.updated"); n != 0 {
		t.Errorf("%d confirmations of settings that the client did not send", n)
	}
}
