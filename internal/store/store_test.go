package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"weir/internal/store"
	"weir/internal/store/storetest"
)

// TestMain is also the main of the process that TestKilled kills.
func TestMain(m *testing.M) {
	if path := os.Getenv("WEIR_TEST_APPLY"); path != "" {
		fmt.Fprintln(os.Stderr, applyForever(context.Background(), path, os.Getenv("WEIR_TEST_JOURNAL")))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Options {
		return store.Options{Path: filepath.Join(t.TempDir(), "data", "weir.db")}
	})
}
