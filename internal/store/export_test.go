package store_test

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
	"weir/internal/store"
)

var exportNoon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// many returns settled attempts of two accounts on three days, every tenth of them the second one of its request.
func many(n int) (list []ledger.Entry) {
	for i := range n {
		e := settled(exportNoon.AddDate(0, 0, i%3), i)
		e.Account = []string{"a", "b"}[i%2]
		if i%10 == 9 {
			e.ID = ledger.AttemptID{Request: list[i-3].ID.Request, N: 2}
		}
		list = append(list, e)
	}
	return list
}

func exported(t *testing.T, s *store.DB, q report.ExportQuery, during func(n int)) (costs map[ledger.AttemptID]llm.Money) {
	t.Helper()
	costs = map[ledger.AttemptID]llm.Money{}
	last := ""
	err := s.Reports.Export(t.Context(), q, func(e *report.Exported) error {
		at := fmt.Sprint(e.Arrived.Format(time.DateOnly), e.ID.Request, e.ID.N)
		if _, twice := costs[e.ID]; twice || at < last {
			t.Errorf("got %s, twice is %t, behind %s", at, twice, last)
		}
		last = at
		costs[e.ID] = e.Cost
		during(len(costs))
		return nil
	})
	must.Do(t, err)
	return costs
}

// TestExportInPieces checks that the export has each attempt that was settled at its start once, with its corrections,
// during any writes.
func TestExportInPieces(t *testing.T) {
	t.Parallel()
	everywhere(t, testExportInPieces)
}

func testExportInPieces(t *testing.T, o store.Options) {
	s, journal := open(t, o), uuid.New()
	list := many(3210)
	opened := settled(exportNoon, 900_000).Attempt
	first := batchOf(journal, 0, list...)
	first.Opened = []ledger.Attempt{opened}
	must.Do(t, s.Ledger.Apply(t.Context(), first))
	must.Do(t, s.Corrections.Correct(t.Context(), audit.Gateway(), ledger.Correct{ID: list[1234].ID, Amount: -1, Reason: "r"}))
	must.Do(t, s.Corrections.Correct(t.Context(), audit.Gateway(), ledger.Correct{ID: list[1234].ID, Amount: -1, Reason: "r"}))
	want := map[ledger.AttemptID]llm.Money{}
	for i := range list {
		want[list[i].ID] = list[i].Cost
	}
	want[list[1234].ID] -= 2
	position := ledger.Position(1)
	got := exported(t, s, report.ExportQuery{}, func(n int) {
		if n%200 == 0 && n <= 3200 {
			must.Do(t, s.Ledger.Apply(t.Context(), batchOf(journal, position, settled(exportNoon.AddDate(0, 0, n%5), 1_000_000+n))))
			position++
		}
	})
	for id, cost := range want {
		if c, there := got[id]; !there || c != cost {
			t.Errorf("attempt %s: got %s, %t; want %s", id, c, there, cost)
		}
	}
	if more := len(got) - len(want); more < 0 || more > 16 || got[opened.ID] != 0 {
		t.Errorf("got %d attempts that were settled meanwhile, and %s of an open one; want up to 16, and none", more, got[opened.ID])
	}
	ofOne := exported(t, s, report.ExportQuery{Account: "b", From: "2026-11-22", To: "2026-11-22"}, func(int) {})
	for i := range list {
		_, there := ofOne[list[i].ID]
		if wanted := list[i].Account == "b" && list[i].Arrived.Day() == 22; there != wanted {
			t.Errorf("attempt %d of account %s on %s: got %t, want %t", i, list[i].Account, list[i].Arrived, there, wanted)
		}
	}
	if none := exported(t, s, report.ExportQuery{From: "2025-01-01", To: "2025-12-31"}, func(int) {}); len(none) > 0 {
		t.Errorf("got %d attempts of a year without any", len(none))
	}
}

// TestExportsHoldNoTransaction checks that no transaction is open while a reader has a row, so that no timeout of the
// server can cut it.
func TestExportsHoldNoTransaction(t *testing.T) {
	t.Parallel()
	o := engines()["PostgreSQL"](t)
	s := open(t, o)
	must.Do(t, s.Ledger.Apply(t.Context(), batchOf(uuid.New(), 0, many(1210)...)))
	db := behind(t, o)
	defer db.Close()
	name := must.Get(scalar[string](t, db, "SELECT current_database()"))(t)
	must.Get(db.ExecContext(t.Context(), "ALTER DATABASE "+name+" SET statement_timeout = '2s'"))(t)
	reader := open(t, o)
	rows := 0
	look := func() {
		if rows++; rows%100 != 1 {
			return
		}
		open := must.Get(scalar[int](t, db, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"+
			" AND pid <> pg_backend_pid() AND xact_start IS NOT NULL"))(t)
		must.Equal(t, open, 0, "transactions at row %d", rows)
	}
	must.Do(t, reader.Reports.Export(t.Context(), report.ExportQuery{}, func(*report.Exported) error { look(); return nil }))
	must.Equal(t, rows, 1210, "attempts")
	rows = 0
	must.Do(t, reader.Reports.Explain(t.Context(), report.ExportQuery{}, func(*report.Explanation) error { look(); return nil }))
	must.Equal(t, rows, 6, "explanations")
}

func scalar[T any](t *testing.T, db *sql.DB, query string) (v T, err error) {
	t.Helper()
	err = db.QueryRowContext(t.Context(), query).Scan(&v)
	return v, err
}

// TestExportLeavesLog checks that SQLite's log restarts while a file is read.
func TestExportLeavesLog(t *testing.T) {
	t.Parallel()
	o := store.Options{Path: t.TempDir() + "/weir.db"}
	s, journal := open(t, o), uuid.New()
	must.Do(t, s.Ledger.Apply(t.Context(), batchOf(journal, 0, many(1000)...)))
	n := 0
	exported(t, s, report.ExportQuery{}, func(int) {
		if n++; n == 2 {
			fill(t, s, journal, 1)
		}
	})
	logWithin(t, o, 16<<20)
}

// TestLogShrinks checks that SQLite's log becomes short again after a long read.
func TestLogShrinks(t *testing.T) {
	t.Parallel()
	o := store.Options{Path: t.TempDir() + "/weir.db"}
	s, journal := open(t, o), uuid.New()
	db := behind(t, o)
	defer db.Close()
	tx := must.Get(db.BeginTx(t.Context(), nil))(t)
	var accounts int
	must.Do(t, tx.QueryRowContext(t.Context(), "SELECT count(*) FROM accounts").Scan(&accounts)) // this transaction holds the log
	fill(t, s, journal, 0)
	if info := must.Get(os.Stat(o.Path + "-wal"))(t); info.Size() < 16<<20 {
		t.Fatalf("the log has %d bytes while a reader holds it, want more than afterwards", info.Size())
	}
	must.Do(t, tx.Rollback())
	for i := range 3 {
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(journal, ledger.Position(1000+i), settled(exportNoon, 90_000+i))))
	}
	logWithin(t, o, 8<<20)
}

// fill writes more than 20 MB, each commit a little.
func fill(t *testing.T, s *store.DB, journal uuid.UUID, from ledger.Position) {
	t.Helper()
	for i := range 25 {
		list := make([]ledger.Entry, 100)
		for k := range list {
			list[k] = settled(exportNoon.AddDate(0, 0, 5), 100_000+100*i+k)
			list[k].Attribution.User = strings.Repeat("u", 900)
		}
		b := batchOf(journal, from+ledger.Position(i), list...)
		if i == 24 {
			b.To = 1000
		}
		must.Do(t, s.Ledger.Apply(t.Context(), b))
	}
}

func logWithin(t *testing.T, o store.Options, most int64) {
	t.Helper()
	if info := must.Get(os.Stat(o.Path + "-wal"))(t); info.Size() > most {
		t.Errorf("the log has %d bytes, want at most %d", info.Size(), most)
	}
}
