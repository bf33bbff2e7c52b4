package store_test

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"weir/internal/store"
	"weir/internal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSQLite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Options {
		return store.Options{Path: filepath.Join(t.TempDir(), "data", "weir.db")}
	})
}
