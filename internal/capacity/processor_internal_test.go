package capacity

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
)

// inTurn runs a step of work on size bytes in its turn.
func inTurn(h *Held, size int, work func() error) error {
	turn, err := h.Turn(size)
	if err != nil {
		return err
	}
	defer turn.End()
	return work()
}

// TestLargeBodiesWaitForTurns checks a call while others have all turns: it processes a small body, waits with a large
// one, and does nothing for a disconnected client.
func TestLargeBodiesWaitForTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, 1, 1024)
		n.processor = newProcessor(1)
		ctx, leave := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, "POST", "/", nil)
		c := n.Hold(&Client{Request: r}, "a")
		done := 0
		work := func() error { done++; return nil }
		must.Do(t, n.processor.large.Enter(t.Context(), "b", false))
		if err := inTurn(&c, LargeBody-1, work); err != nil || done != 1 {
			t.Errorf("a small body: %v, done %d times, want once", err, done)
		}
		began := time.Now()
		e := llm.AsError(inTurn(&c, LargeBody, work))
		if e.Code != llm.CodeOverloaded || done != 1 || time.Since(began) != turnWait {
			t.Errorf("a large body without a turn: %v after %s, done %d times; want it refused after %s", e, time.Since(began), done, turnWait)
		}
		n.processor.large.Leave("b")
		if err := inTurn(&c, LargeBody, work); err != nil || done != 2 {
			t.Errorf("a large body with a turn: %v, done %d times, want twice", err, done)
		}
		leave()
		if err := inTurn(&c, LargeBody, work); !errors.Is(err, ErrGone) || done != 2 {
			t.Errorf("a client that left: %v, done %d times, want no more", err, done)
		}
		if !n.processor.large.Idle() {
			t.Error("a step still runs or waits")
		}
	})
}

// TestSmallSteps checks that small steps take no turn while they are few, and each its account's turn once they are
// many, so that a small request does not wait behind all of another account's.
func TestSmallSteps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, 1, 1024)
		n.processor = newProcessor(2)
		must.Do(t, n.processor.large.Enter(t.Context(), "huge", false)) // does not delay small steps
		var mu sync.Mutex
		var order []string
		working, most := 0, 0
		step := func(account string) {
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/", nil)
			held := n.Hold(&Client{Request: r}, account)
			err := inTurn(&held, 0, func() error {
				mu.Lock()
				working++
				order, most = append(order, account), max(most, working)
				mu.Unlock()
				time.Sleep(time.Millisecond)
				mu.Lock()
				working--
				mu.Unlock()
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() { step("greedy") })
		}
		synctest.Wait()
		all.Go(func() { step("modest") })
		all.Wait()
		if at := slices.Index(order, "modest"); at > 6 || most > 3 || len(order) != 101 {
			t.Errorf("%d of %d steps were done before the one of another account, %d at once; want few", at, len(order), most)
		}
		if n.processor.underWay.Load() != 0 {
			t.Errorf("%d steps are still counted", n.processor.underWay.Load())
		}
	})
}
