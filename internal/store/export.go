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
	x := exporter{conn: s.conn, account: q.Account, book: priceBook{}}
	err := x.start(ctx, q)
	for err == nil && !x.ended {
		err = x.piece(ctx, fn)
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// exporter walks through attempts in the order of their primary key.
type exporter struct {
	*conn
	account     string // id; empty for all
	book        priceBook
	after, last spot // the places before the first and of the last remaining attempt
	ended       bool
}

// start finds the last attempt.
func (x *exporter) start(ctx context.Context, q report.ExportQuery) error {
	f, err := newUsesFilter(report.UsesQuery{From: q.From, To: q.To})
	if err != nil {
		return err
	}
	x.after = spot{day: f.from}
	query, args := x.where("day BETWEEN ? AND ?", f.from, f.to)
	row := x.read.QueryRowContext(ctx, "SELECT day, request, n FROM attempts a WHERE "+query+
		" ORDER BY day DESC, request DESC, n DESC LIMIT 1", args...)
	err = row.Scan(&x.last.day, &x.last.request, &x.last.n)
	if errors.Is(err, sql.ErrNoRows) {
		x.ended = true
		return nil
	}
	if err == nil {
		err = x.book.load(ctx, x.read)
	}
	return err
}

func (x *exporter) where(condition string, args ...any) (string, []any) {
	if x.account != "" {
		return condition + " AND a.account = ?", append(args, x.account)
	}
	return condition, args
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

// attempts returns the next ones, with their corrections and prices. It includes open ones: with a condition that
// excludes them, a statement could skip any number of rows.
func (x *exporter) attempts(ctx context.Context, tx *sql.Tx) ([]report.Exported, error) {
	query, args := x.where("(a.day, a.request, a.n) > (?, ?, ?) AND (a.day, a.request, a.n) <= (?, ?, ?)",
		x.after.day, x.after.request, x.after.n, x.last.day, x.last.request, x.last.n)
	rows, err := tx.QueryContext(ctx, "SELECT "+of("a", attemptColumns)+", coalesce(c.name, ''), coalesce(k.label, '')"+
		" FROM attempts a LEFT JOIN accounts c ON c.id = a.account LEFT JOIN keys k ON k.id = a.key WHERE "+query+
		" ORDER BY a.day, a.request, a.n LIMIT ?", append(args, exportPiece)...)
	list, err := collect(rows, err, scanExported)
	if err != nil {
		return nil, err
	}
	x.ended = len(list) < exportPiece
	if len(list) == 0 {
		return nil, nil
	}
	from := x.after
	x.after = spotOfEntry(&list[len(list)-1].Entry)
	corrected, err := correctionsBetween(ctx, tx, from, x.after)
	for i := 0; i < len(list) && err == nil; i++ {
		err = x.book.fillAll(ctx, tx, &list[i].Attempt)
		if errors.Is(err, errNoPrice) {
			err = nil
		}
		addCorrection(&list[i], corrected[list[i].ID])
	}
	return list, err
}

// spotOfEntry returns the place of an attempt.
func spotOfEntry(e *ledger.Entry) spot {
	return spot{dayOf(e.Arrived), e.ID.Request.String(), int64(e.ID.N)}
}

// correctionsBetween returns the sums of corrections by attempt, for the attempts between two places, including the
// last.
func correctionsBetween(ctx context.Context, q querier, after, last spot) (map[ledger.AttemptID]*correction, error) {
	rows, err := q.QueryContext(ctx, "SELECT "+correctionColumns+" FROM corrections"+
		" WHERE (day, request, n) > (?, ?, ?) AND (day, request, n) <= (?, ?, ?)",
		after.day, after.request, after.n, last.day, last.request, last.n)
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

// eachOfDay calls fn with each attempt of a day and an account, empty for all, in pieces as Export does. The
// transaction must see the database as of one moment.
func eachOfDay(ctx context.Context, tx *sql.Tx, day int64, account string, fn func(*ledger.Entry) error) error {
	for after := (spot{day: day}); ; {
		query, args := (&exporter{account: account}).where("a.day = ? AND (a.request, a.n) > (?, ?)",
			day, after.request, after.n)
		rows, err := tx.QueryContext(ctx, "SELECT "+attemptColumns+" FROM attempts a WHERE "+query+
			" ORDER BY a.day, a.request, a.n LIMIT ?", append(args, exportPiece)...)
		list, err := collect(rows, err, scanEntry)
		for i := 0; i < len(list) && err == nil; i++ {
			err = fn(&list[i])
		}
		if err != nil || len(list) < exportPiece {
			return err
		}
		after = spotOfEntry(&list[len(list)-1])
	}
}

// scanExported scans a row of attemptColumns, with the names of the account and the key.
func scanExported(row scanner) (e report.Exported, err error) {
	e.Entry, err = scanEntry(&longer{row, []any{&e.AccountName, &e.KeyLabel}})
	return e, err
}

// longer scans a row with more columns after the requested ones.
type longer struct {
	scanner
	more []any
}

func (l *longer) Scan(dest ...any) error { return l.scanner.Scan(append(dest, l.more...)...) }
