package store

import (
	"path/filepath"
	"runtime"
	"testing"

	"weir/internal/must"
	"weir/internal/report"
)

// TestOverviewNeedsLittleMemory reads the overview of an account that used 20,000 models: its memory does not grow with
// them. It is not parallel, because it counts all allocations of the process.
func TestOverviewNeedsLittleMemory(t *testing.T) {
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "weir.db")})
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, s.Close()) })
	_, err = s.sure.ExecContext(t.Context(), "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "+
		"INSERT INTO rollup_uses (period, account, model, requests, attempts, cost) SELECT 20261121, 'acc_a', 'openai/' || i, 1, 1, i FROM n")
	must.Do(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	v, err := s.Reports.Overview(t.Context(), report.OverviewQuery{Account: "acc_a", From: "2026-10-23", To: "2026-11-21", Models: 8})
	runtime.ReadMemStats(&after)
	must.Do(t, err)
	if len(v.Models) != 8 || !v.More || v.Models[0].Model != "openai/20000" || v.Total.Requests != 20_000 || v.Total.Cost != 200_010_000 {
		t.Errorf("got %+v of %d models, more %v", v.Total, len(v.Models), v.More)
	}
	if took, most := after.TotalAlloc-before.TotalAlloc, uint64(2<<20); took > most {
		t.Errorf("%d bytes were allocated, want at most %d", took, most)
	}
}
