package app

import (
	"testing"

	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/managed"
)

// TestTrialsAreBounded is that no more providers are tested at once than there is room for, and that room comes back.
func TestTrialsAreBounded(t *testing.T) {
	t.Parallel()
	g := newInstance(t)
	ask := func() error {
		_, err := g.managed.Test(t.Context(), audit.Gateway(), managed.Trial{Name: "demo"})
		return err
	}
	for range mostTrials {
		g.managed.trials <- struct{}{}
	}
	if err := ask(); err == nil || llm.AsError(err).Code != llm.CodeRateLimited {
		t.Errorf("one more test: got %v, want it refused for now", err)
	}
	<-g.managed.trials
	for range 2 {
		if err := ask(); err != nil {
			t.Errorf("a test with room: got %v", err)
		}
	}
}
