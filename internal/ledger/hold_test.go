package ledger

import (
	"strings"
	"testing"

	"weir/internal/llm"
)

// TestReplyID checks that a provider's id of a reply is stored only if it is needed, and valid.
func TestReplyID(t *testing.T) {
	t.Parallel()
	l := openTest(t, t.TempDir(), newLockedDB(), nil)
	defer closeTest(t, l)
	for _, tt := range []struct {
		name, id   string
		outcome    Outcome
		provenance Provenance
		atMost     llm.Money
		kept, asks bool
	}{
		{"cut", "gen-1", OutcomeCut, Estimated, 9, true, true},
		{"without a price", "gen-1", OutcomeCut, Estimated, 0, true, false},
		{"an error with the provider's numbers", "gen-1", OutcomeCut, Exact, 0, true, false},
		{"whole, and counted here", "gen-1", OutcomeOK, Estimated, 9, true, true},
		{"whole", "gen-1", OutcomeOK, Exact, 0, false, false},
		{"a space", "gen 1", OutcomeCut, Estimated, 9, false, false},
		{"a letter of no ASCII", "gén", OutcomeCut, Estimated, 9, false, false},
		{"too long", strings.Repeat("x", 257), OutcomeCut, Estimated, 9, false, false},
		{"none", "", OutcomeCut, Estimated, 9, false, false},
	} {
		h := Hold{ledger: l, attempt: Attempt{Opened: l.Now()}}
		s := Settlement{Outcome: tt.outcome, Provenance: tt.provenance, AtMost: tt.atMost, ReplyID: tt.id, Ask: true}
		h.complete(&s)
		if (s.ReplyID != "") != tt.kept || s.Ask != tt.asks {
			t.Errorf("%s: got the id %q, asks: %t; want it stored: %t, asks: %t", tt.name, s.ReplyID, s.Ask, tt.kept, tt.asks)
		}
	}
}
