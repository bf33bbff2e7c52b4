package live_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/report"
	"weir/internal/websocket"
)

// TestSessionsEndWithinBudget has sessions spend a budget at once, by text and by detected turns that interrupt answers:
// the provider's account never exceeds it, and each session ends with the reason. The control has no budget and
// exceeds the amount.
func TestSessionsEndWithinBudget(t *testing.T) {
	t.Parallel()
	const limit = 2 * llm.USD
	for _, held := range []bool{true, false} {
		t.Run(fmt.Sprintf("held=%v", held), func(t *testing.T) {
			t.Parallel()
			up := harness.NewUpstream(t)
			h := harness.Open(t, harness.Setup{YAML: priced(up)})
			if held {
				h.SetBudget(limit, budget.PeriodTotal)
			}
			var clients sync.WaitGroup
			for i := range 6 {
				rng := rand.New(rand.NewPCG(uint64(i), 7))
				clients.Go(func() { spend(t, h, rng, held) })
			}
			clients.Wait()
			var counted, cost llm.Money
			open := false
			defer func() { t.Logf("the provider served %v, and budgets count %v; open: %v", cost, counted, open) }()
			harness.Await(t, "the rows of all answers", func() bool {
				counted, cost, open = 0, 0, false
				h.EachEntry(func(e *report.Exported) {
					counted += e.Charged()
					open = open || e.Outcome == ledger.OutcomeOpen
				})
				for r := range up.Ledger().Records(0) {
					cost += costOf(&r.Usage)
					open = open || r.Ended.IsZero()
				}
				return !open && counted >= cost
			})
			if held && (cost > limit || counted > limit || cost == 0) {
				t.Errorf("the provider served %v, and budgets count %v, of %v", cost, counted, limit)
			}
			if !held && cost <= limit {
				t.Errorf("without a budget the provider served %v, want more than %v", cost, limit)
			}
		})
	}
}

// spend wants answers until the session ends, or eight of them.
func spend(t *testing.T, h *harness.Gateway, rng *rand.Rand, held bool) {
	s := open(t, h, "house/echo:sound=20s", "")
	defer s.conn.Abort()
	for range 8 {
		switch rng.IntN(3) {
		case 0:
			_ = s.conn.Send(websocket.Text, []byte(`{"realtimeInput":{"text":"Hello"}}`))
		case 1:
			_ = s.conn.Send(websocket.Text, []byte(speech(500, 600)))
		case 2: // the second one interrupts the first answer, perhaps before anything came of it
			_ = s.conn.Send(websocket.Text, []byte(speech(200, 600)))
			_ = s.conn.Send(websocket.Text, []byte(speech(200, 600)))
		}
		if _, err := s.next(isComplete); err != nil {
			if code := websocket.CodeOf(err); !held || code != websocket.Refused {
				t.Errorf("the session ended with %v", err)
			}
			return
		}
	}
}

// TestCapIsLoweredToBudget checks that a budget for a part of an answer sets the setup's output cap.
func TestCapIsLoweredToBudget(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	h.SetBudget(14*llm.USD/100, budget.PeriodTotal)
	s := begun(t, h, "house/echo:tokens=900",
		`,"realtimeInputConfig":{"automaticActivityDetection":{"disabled":true}},"generation_config":{"max_output_tokens":950}`)
	s.say("Hello")
	got := s.await("end", isComplete).UsageMetadata
	if got == nil || got.ResponseTokenCount >= 900 || got.ResponseTokenCount < 256 {
		t.Errorf("the answer has %+v, want between 256 and 900 tokens", got)
	}
}

// TestSoundEnlargesHold checks that a long sound without a turn is covered: the attempt is replaced by larger ones, which
// cost nothing.
func TestSoundEnlargesHold(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	s := begun(t, h, "house/echo:tokens=3", "")
	for range 8 {
		s.send(speech(30_000, 0))
	}
	s.send(speech(100, 600))
	s.await("end", isComplete)
	s.conn.Abort()
	row, truth := h.SettledSession(s.id, 1)[0], served(up, s.id)
	if row.Provenance != ledger.Exact || row.Cost != costOf(&truth[0].Usage) || row.Bound.InputTokens() < truth[0].Usage.InputTokens() {
		t.Errorf("%s, %v of at most %v, want %v", row.Provenance, row.Usage, row.Bound, truth[0].Usage)
	}
	replaced := 0
	h.EachEntry(func(e *report.Exported) {
		if e.Outcome == ledger.OutcomeRefused {
			if replaced++; e.Cost != 0 || e.Counts {
				t.Errorf("a replaced attempt costs %v", e.Cost)
			}
		}
	})
	if replaced == 0 || replaced > 4 {
		t.Errorf("%d attempts were replaced, want 1 to 4", replaced)
	}
}

// TestTextBesideSoundEnlargesHold checks that the bound of an answer has the text of a message that has sound, too.
func TestTextBesideSoundEnlargesHold(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	s := begun(t, h, "house/echo:tokens=3", "")
	text := `{"text":"` + strings.Repeat("word ", 16000) + `",`
	s.send(strings.Replace(speech(100, 0), `{"audio"`, text+`"audio"`, 1))
	s.await("end", isComplete)
	s.conn.Abort()
	row, truth := h.SettledSession(s.id, 1)[0], served(up, s.id)
	if want := truth[0].Usage.InputTokens(); row.Bound.InputTokens() < want {
		t.Errorf("the bound is %v, want at least the %d tokens that the answer has read", row.Bound, want)
	}
}

// TestInterruptedQuestionsLeaveNothingOpen checks that each question has its own row if the next one interrupts its answer
// before anything came of it, so that the session does not come to its bound of open answers.
func TestInterruptedQuestionsLeaveNothingOpen(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	s := begun(t, h, "house/echo:tokens=3,ttft=1s", "") // the second question comes before, also on a busy machine
	const pairs = 9
	for range pairs {
		s.say("one")
		s.say("two")
		s.await("interruption", func(m *message) bool { return m.ServerContent.Interrupted })
		s.await("content", hasContent)
		s.await("end", isComplete)
	}
	s.conn.Abort()
	var cost, want llm.Money
	for _, row := range h.SettledSession(s.id, 2*pairs) {
		if cost += row.Cost; row.Provenance != ledger.Exact {
			t.Errorf("a row is %s", row.Provenance)
		}
	}
	for _, r := range served(up, s.id) {
		want += costOf(&r.Usage)
	}
	if cost != want {
		t.Errorf("the rows cost %v, want %v", cost, want)
	}
}

// TestRevokedKeyEndsSession checks that a session ends with its key.
func TestRevokedKeyEndsSession(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	s := begun(t, h, "house/echo:tokens=3", "")
	h.Administer(func(ctx context.Context, a *account.Service) error {
		_, err := a.Suspend(ctx, audit.Gateway(), account.DefaultName)
		return err
	})
	_, err := s.next(isComplete)
	if websocket.CodeOf(err) != websocket.Refused || !strings.Contains(websocket.ReasonOf(err), "suspended") {
		t.Errorf("the session ended with %v, want %d", err, websocket.Refused)
	}
}
