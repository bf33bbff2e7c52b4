package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"weir/internal/llm"
	"weir/internal/store"
	"weir/internal/store/pgtest"
	"weir/internal/store/storetest"
)

// postgres is the server of the tests in this package.
var postgres pgtest.Shared

// TestMain is also the main of the process that TestKilled kills.
func TestMain(m *testing.M) {
	if path := os.Getenv("WEIR_TEST_APPLY"); path != "" {
		fmt.Fprintln(os.Stderr, applyForever(context.Background(), path, os.Getenv("WEIR_TEST_JOURNAL")))
		os.Exit(1)
	}
	goleak.VerifyTestMain(tests{m})
}

// tests end the server behind them.
type tests struct{ *testing.M }

// Run runs the tests.
func (t tests) Run() int {
	code := t.M.Run()
	if err := postgres.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

// engines are the databases that a store can be on. Each call of one gives an
// empty one, which is gone after the test.
func engines() map[string]func(testing.TB) store.Options {
	return map[string]func(testing.TB) store.Options{
		"SQLite": func(t testing.TB) store.Options {
			return store.Options{Path: filepath.Join(t.TempDir(), "data", "weir.db")}
		},
		"PostgreSQL": func(t testing.TB) store.Options {
			return store.Options{URL: llm.NewSecret(postgres.Database(t))}
		},
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, backend := range engines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) store.Options { return backend(t) })
		})
	}
}
