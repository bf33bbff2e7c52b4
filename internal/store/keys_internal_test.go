package store

import (
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/must"
)

// TestKeysAreFoundByIndex checks that SQLite reads an index, and not all keys, to find a key by a token that anybody may
// send.
func TestKeysAreFoundByIndex(t *testing.T) {
	t.Parallel()
	s := must.Get(Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "weir.db")}))(t)
	t.Cleanup(func() { must.Do(t, s.Close()) })
	for condition, wanted := range map[string]string{byHash: "SEARCH", byFormerHash: "SEARCH", "k.former = ?": "SCAN"} {
		var id, parent, unused int
		var plan string
		row := s.read.QueryRowContext(t.Context(), "EXPLAIN QUERY PLAN SELECT id FROM keys k WHERE "+condition, "hash")
		must.Do(t, row.Scan(&id, &parent, &unused, &plan))
		if !strings.HasPrefix(plan, wanted) {
			t.Errorf("%s: got the plan %q, want %s", condition, plan, wanted)
		}
	}
}
