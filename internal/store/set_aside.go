package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"

	"weir/internal/ledger"
	"weir/internal/report"
)

// SetAside returns the number of records of a journal that are set aside.
func (s *Ledger) SetAside(ctx context.Context, journal uuid.UUID) (n int64, err error) {
	err = s.read.QueryRowContext(ctx, "SELECT count(*) FROM set_aside WHERE journal = ?", journal.String()).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count records that are set aside: %w", err)
	}
	return n, nil
}

// putAside stores the records of a batch that cannot be stored as what they are.
func (a *applier) putAside(ctx context.Context, tx *sql.Tx, b *ledger.Batch) error {
	for i := range b.Aside {
		_, err := tx.ExecContext(ctx, "INSERT INTO set_aside (journal, position, record, reason, at)"+
			" VALUES (?, ?, ?, ?, ?) ON CONFLICT (journal, position) DO NOTHING", b.Journal.String(),
			int64(b.Aside[i].At), b.Aside[i].Record, b.Aside[i].Reason, micros(a.clock.now()))
		if err != nil {
			return err
		}
	}
	return nil
}

// readAside returns the oldest records of all journals that are set aside, at most mostDifferences.
func readAside(ctx context.Context, q querier) ([]report.SetAside, error) {
	rows, err := q.QueryContext(ctx, "SELECT journal, position, record, reason, at FROM set_aside"+
		" ORDER BY at, journal, position LIMIT ?", int64(mostDifferences))
	return collect(rows, err, func(row scanner) (r report.SetAside, err error) {
		var record ledger.Aside
		var at int64
		err = row.Scan(&r.Journal, &r.Position, &record.Record, &r.Reason, &at)
		r.Record, r.At = record.String(), time.UnixMicro(at).UTC()
		return r, err
	})
}

// retainAside deletes the records that were set aside before a time.
func (s *Ledger) retainAside(ctx context.Context, before time.Time) error {
	old := leftover{
		table: "set_aside", key: "journal, position", where: "at < ?", args: []any{micros(before)},
	}
	for more := true; more; {
		err := s.writeDeletion(ctx, "delete records that are set aside", func(tx *sql.Tx) (err error) {
			more, err = old.deleteSome(ctx, tx)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
