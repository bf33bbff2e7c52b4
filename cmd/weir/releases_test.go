package main

import (
	"log/slog"
	"path/filepath"
	"testing"

	"weir/internal/admin"
	"weir/internal/config"
	"weir/internal/must"
)

// TestEarlierSchemas restores a backup of each earlier version of the schema: it is migrated, and the ledger verifies.
// The only one has 80 chats, a response, and a request that failed and was tried three times.
func TestEarlierSchemas(t *testing.T) {
	t.Parallel()
	files := must.Get(filepath.Glob("testdata/releases/*.backup"))(t)
	if len(files) == 0 {
		t.Fatal("there is no backup of an earlier version")
	}
	for _, file := range files {
		cfg := config.Default()
		cfg.Data = filepath.Join(t.TempDir(), "data")
		done, err := admin.Restore(t.Context(), cfg, admin.RestoreOptions{
			From: file, By: actor(), Log: slog.New(slog.DiscardHandler),
		})
		must.Do(t, err)
		if v := done.Verification; v.Rows != 84 || v.Open != 0 || len(v.Differences) > 0 || done.Sealed != 0 {
			t.Errorf("%s: got %d rows, %d open, differences %v, %d secrets without a key; want 84 rows, none open, no differences, no such secret",
				file, v.Rows, v.Open, v.Differences, done.Sealed)
		}
	}
}
