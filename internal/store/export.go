package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"weir/internal/ledger"
	"weir/internal/report"
)

// exportPiece is how many attempts one statement reads. A server's statement time limit includes the time of reading
// the rows, and SQLite's log grows as long as a statement reads.
const exportPiece = 500

// Export calls fn with each stored settled attempt, oldest day first. Corrections are added, so that the costs add up
// to the rollups. It ends with the first error of fn. If a price is not stored, only its version is set.
//
// Attempts are read in pieces, each as of one moment, and no connection is held while fn runs. Each attempt that is
// settled in the database at the start is passed once. An attempt that is settled meanwhile is passed once or not at
// all. Attempts after the last one at the start are not passed.
func (s *Reports) Export(ctx context.Context, q report.ExportQuery, fn func(*report.Exported) error) error {
	x := exporter{conn: s.conn, book: priceBook{}}
	err := x.start(ctx, q)
	for err == nil && !x.ended {
		err = x.piece(ctx, fn)
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// exporter walks through attempts in the order of their places.
type exporter struct {
	*conn
	rows  rowsQuery // the remaining attempts
	book  priceBook
	ended bool
}

// start finds the last attempt.
func (x *exporter) start(ctx context.Context, q report.ExportQuery) error {
	f, err := newUsesFilter(report.UsesQuery{From: q.From, To: q.To})
	if err != nil {
		return err
	}
	x.rows = rowsQuery{
		account: q.Account, from: rowPlace{day: f.from}, to: rowPlace{day: f.to + 1}, down: true, limit: 1,
	}
	last, err := readRows(ctx, x.read, &x.rows)
	if err != nil || len(last) == 0 {
		x.ended = true
		return err
	}
	x.rows.to, x.rows.down, x.rows.limit = last[0].next(), false, exportPiece
	return x.book.load(ctx, x.read)
}

// piece reads the next attempts, and then calls fn with each.
func (x *exporter) piece(ctx context.Context, fn func(*report.Exported) error) error {
	var list []report.Exported
	err := x.moment(ctx, x.read, "read attempts", func(tx *sql.Tx) (err error) {
		list, err = x.attempts(ctx, tx)
		return err
	})
	for i := 0; i < len(list) && err == nil; i++ {
		if list[i].Outcome != ledger.OutcomeOpen {
			err = fn(&list[i])
		}
	}
	return err
}

// attempts returns the next ones, with their corrections, prices and names. It includes open ones: with a condition
// that excludes them, a statement could skip any number of rows.
func (x *exporter) attempts(ctx context.Context, tx *sql.Tx) ([]report.Exported, error) {
	rows, err := readRows(ctx, tx, &x.rows)
	if err != nil {
		return nil, err
	}
	if x.ended = len(rows) < exportPiece; len(rows) == 0 {
		return nil, nil
	}
	first, last := rows[0].rowPlace, rows[len(rows)-1].rowPlace
	x.rows.from = last.next()
	accounts, keys := map[string]string{}, map[string]string{}
	for i := range rows {
		accounts[rows[i].Account], keys[rows[i].Key] = "", ""
	}
	err = errors.Join(named(ctx, tx, "SELECT id, name FROM accounts", accounts),
		named(ctx, tx, "SELECT id, label FROM keys", keys))
	if err != nil {
		return nil, err
	}
	corrected, err := correctionsBetween(ctx, tx, first, last)
	list := make([]report.Exported, len(rows))
	for i := 0; i < len(list) && err == nil; i++ {
		e := &list[i]
		e.Entry, e.AccountName, e.KeyLabel = rows[i].Entry, accounts[rows[i].Account], keys[rows[i].Key]
		if err = x.book.fillAll(ctx, tx, &e.Attempt); errors.Is(err, errNoPrice) {
			err = nil
		}
		addCorrection(e, corrected[e.ID])
	}
	return list, err
}

// named sets the names of ids by a query of both.
func named(ctx context.Context, tx querier, query string, names map[string]string) error {
	var ids []any
	for id := range names {
		ids = append(ids, id)
	}
	rows, err := tx.QueryContext(ctx, query+" WHERE "+among("id", len(ids)), ids...)
	return eachRow(rows, err, func(row scanner) error {
		var id, name string
		err := row.Scan(&id, &name)
		names[id] = name
		return err
	})
}

// correctionsBetween returns the sums of corrections by attempt, for the attempts from the first place to the last.
func correctionsBetween(ctx context.Context, q querier, first, last rowPlace) (
	map[ledger.AttemptID]*correction, error,
) {
	from, n := oldPlace(first)
	to, m := oldPlace(last)
	rows, err := q.QueryContext(ctx, "SELECT "+correctionColumns+" FROM corrections"+
		" WHERE (day, request, n) >= (?, ?, ?) AND (day, request, n) <= (?, ?, ?)", first.day, from, n, last.day, to, m)
	byAttempt := map[ledger.AttemptID]*correction{}
	err = each(rows, err, scanCorrection, func(c *correction) error {
		if sum := byAttempt[c.id]; sum != nil {
			sum.add(c)
		} else {
			one := *c
			byAttempt[c.id] = &one
		}
		return nil
	})
	return byAttempt, err
}

// addCorrection adds a correction to an attempt; nil adds nothing.
func addCorrection(e *report.Exported, c *correction) {
	if c == nil {
		return
	}
	left := e.MostCost() - e.Cost + c.uncertain
	e.Cost += c.cost
	e.Margin += c.margin
	e.MarginUncertain += c.marginUncertain
	if c.unpriced != 0 || c.marginUnpriced != 0 {
		e.Unpriced, e.ChargeUnpriced = 0, nil
	}
	e.Usage.Add(&c.usage)
	if e.AtMost = 0; left > 0 {
		e.AtMost = e.Cost + left
	}
}
