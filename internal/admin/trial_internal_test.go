package admin

import (
	"log/slog"
	"testing"

	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/llm"
	"weir/internal/managed"
	"weir/internal/must"
)

// TestTrialsAreBounded checks that the number of concurrent tests of providers is bounded, and that their slots are
// released.
func TestTrialsAreBounded(t *testing.T) {
	t.Parallel()
	cfg := must.Get(config.Load(config.Options{Data: t.TempDir()}))(t)
	db := must.Get(OpenStore(t.Context(), &cfg, slog.New(slog.DiscardHandler)))(t)
	a := must.Get(New(&Options{
		Config: &cfg, Store: db, Log: slog.New(slog.DiscardHandler), Files: config.Options{Data: cfg.Data},
		Getenv: func(string) string { return "" },
	}))(t)
	t.Cleanup(func() { must.Do(t, a.Close()) })
	ask := func() error {
		_, err := a.Configuration.Test(t.Context(), audit.Gateway(), managed.Trial{Name: "demo"})
		return err
	}
	for range mostTrials {
		a.Configuration.trials <- struct{}{}
	}
	if err := ask(); err == nil || llm.AsError(err).Code != llm.CodeRateLimited {
		t.Errorf("one more test: got %v, want it refused for now", err)
	}
	<-a.Configuration.trials
	for range 2 {
		if err := ask(); err != nil {
			t.Errorf("a test with room: got %v", err)
		}
	}
}
