package store

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"weir/internal/must"
)

// TestWriteOnFastPoolEnds checks that a write on the pool fast does not wait for the connection that bulk holds.
func TestWriteOnFastPoolEnds(t *testing.T) {
	t.Parallel()
	s := must.Get(Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "weir.db")}))(t)
	t.Cleanup(func() { must.Do(t, s.Close()) })
	nothing := func(*sql.Tx) error { return nil }
	must.Do(t, s.writeFast(t.Context(), "hold the connection", nothing))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must.Do(t, s.write(ctx, s.fast, "write", nothing))
}
