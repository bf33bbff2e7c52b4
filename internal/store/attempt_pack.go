package store

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"weir/internal/ledger"
)

// PackAttempts moves the settled rows that earlier versions wrote to the table of packed rows, retainRows in a
// transaction. After each it rests as long as the transaction took, so that others can write. It returns how many rows
// it moved. If it is interrupted, the next call continues. Open rows are moved when they are settled.
func (s *Ledger) PackAttempts(ctx context.Context) (moved int64, err error) {
	return s.packBetween(ctx, rowPlace{}, rowPlace{day: lastDay + 1})
}

// packBetween moves the rows between two places.
func (s *Ledger) packBetween(ctx context.Context, from, to rowPlace) (moved int64, err error) {
	query := rowsQuery{from: from, to: to, least: stateKnown, limit: retainRows}
	for {
		list, err := readOldIDs(ctx, s.read, &query)
		if err != nil || len(list) == 0 {
			return moved, err
		}
		start := time.Now()
		n := 0
		var w rowWriter // without numbers of the portion before: the database may have gone back in time
		err = s.writeDeletion(ctx, "pack attempts", func(tx *sql.Tx) (err error) {
			w.begin(s.clock.now())
			n, err = s.packPortion(ctx, tx, &w, list)
			return err
		})
		if err != nil {
			return moved, err
		}
		moved += int64(n)
		last := &list[len(list)-1]
		query.from = placeOf(last.day, last.id).next()
		select {
		case <-ctx.Done():
			return moved, fmt.Errorf("pack attempts: %w", context.Cause(ctx))
		case <-time.After(time.Since(start)):
		}
	}
}

// oldID is an attempt of the old form, and its state.
type oldID struct {
	day   int64
	id    ledger.AttemptID
	state int64
}

// readOldIDs returns the ids of the selected rows of attempts.
func readOldIDs(ctx context.Context, q querier, query *rowsQuery) ([]oldID, error) {
	text, args := query.oldSQL()
	rows, err := q.QueryContext(ctx, "SELECT day, request, n, "+oldState+text, args...)
	return collect(rows, err, func(row scanner) (o oldID, err error) {
		return o, row.Scan(&o.day, &o.id.Request, &o.id.N, &o.state)
	})
}

// packPortion moves the rows of the list. It locks those that may be resolved, so that their corrections do not change.
func (s *Ledger) packPortion(ctx context.Context, tx *sql.Tx, w *rowWriter, list []oldID) (int, error) {
	var args []any
	for i := range list {
		o := &list[i]
		if o.state >= stateUnresolved {
			if err := s.corrections.lockAttempt(ctx, tx, o.id); err != nil {
				return 0, err
			}
		}
		args = append(args, o.day, o.id.Request.String(), int64(o.id.N))
	}
	const row = "(cast(? AS BIGINT), cast(? AS TEXT), cast(? AS BIGINT))"
	return packOld(ctx, tx, w, "(day, request, n) IN (VALUES "+row+strings.Repeat(", "+row, len(list)-1)+")", args...)
}

// packOld moves the rows of attempts that satisfy a condition, and returns how many. The writer must have begun.
func packOld(ctx context.Context, tx *sql.Tx, w *rowWriter, where string, args ...any) (int, error) {
	rows, err := tx.QueryContext(ctx, "DELETE FROM attempts WHERE "+where+" RETURNING "+attemptColumns+", 0", args...)
	list, err := collect(rows, err, scanOldRow)
	if err != nil {
		return 0, err
	}
	slices.SortFunc(list, func(a, b storedRow) int { return a.compare(b.rowPlace) })
	for some := range slices.Chunk(list, bulkRows) {
		if err := w.move(ctx, tx, some); err != nil {
			return 0, err
		}
	}
	return len(list), nil
}

// move writes rows of the old form.
func (w *rowWriter) move(ctx context.Context, tx *sql.Tx, list []storedRow) error {
	corrections, err := correctionsOfRows(ctx, tx, list)
	if err != nil {
		return err
	}
	var args []any
	for i := range list {
		r := &list[i]
		one := func(int) (*ledger.Attempt, *ledger.Settlement) { return &r.Attempt, &r.Settlement }
		if err := w.number(ctx, tx, r.journal, 1, one); err != nil {
			return err
		}
		state := stateOf(&ledger.Row{Entry: r.Entry, Corrections: corrections[r.ID]})
		args = w.bind(args, 0, state, &r.Attempt, &r.Settlement)
	}
	_, err = tx.ExecContext(ctx, insertSettled().sql(len(list)), args...)
	return err
}

// correctionsOfRows returns the corrections of attempts.
func correctionsOfRows(ctx context.Context, q querier, list []storedRow) (map[ledger.AttemptID][]ledger.Correction,
	error,
) {
	var spots []spot
	for i := range list {
		at := spot{list[i].day, list[i].ID.Request.String()}
		if len(spots) == 0 || spots[len(spots)-1] != at {
			spots = append(spots, at)
		}
	}
	if len(spots) == 0 {
		return nil, nil
	}
	with, args := wanted(spots)
	return correctionsOf(ctx, q, with, args)
}

// inBatch yields the attempts of a batch.
func inBatch(b *ledger.Batch) iter.Seq[*ledger.Attempt] {
	return func(yield func(*ledger.Attempt) bool) {
		for i := range b.Opened {
			if !yield(&b.Opened[i]) {
				return
			}
		}
		for i := range b.Settled {
			if !yield(&b.Settled[i].Attempt) {
				return
			}
		}
	}
}

// packBatch moves the rows of the old form of a batch's attempts, because the batch settles them, or they are already
// settled.
func packBatch(ctx context.Context, tx *sql.Tx, w *rowWriter, b *ledger.Batch) error {
	days := map[int64]bool{}
	var last int64
	for a := range inBatch(b) {
		if day := dayOf(a.Arrived); day != last {
			days[day], last = true, day
		}
	}
	for day := range days {
		// Only the day's part of the index is searched: PostgreSQL would read all that a large move has left of the
		// table.
		var there bool
		err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM attempts WHERE day = ?)", day).Scan(&there)
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		var requests []any
		for a := range inBatch(b) {
			if dayOf(a.Arrived) == day {
				requests = append(requests, a.ID.Request.String())
			}
		}
		for some := range slices.Chunk(requests, bulkRows) {
			args := append([]any{day}, some...)
			if _, err := packOld(ctx, tx, w, "day = ? AND "+among("request", len(some)), args...); err != nil {
				return err
			}
		}
	}
	return nil
}
