package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"weir/internal/ledger"
	"weir/internal/report"
)

// Attempt is the attempt of that id as it was settled, or as it was opened
// when its outcome is ledger.OutcomeOpen; false when there is none. What was
// corrected later is not in it.
func (s *Reports) Attempt(ctx context.Context, id ledger.AttemptID) (ledger.Entry, bool, error) {
	e, _, err := findAttempt(ctx, s.read, id)
	if errors.Is(err, sql.ErrNoRows) {
		return ledger.Entry{}, false, nil
	}
	if err == nil {
		err = priceBook{}.fillAll(ctx, s.read, &e.Attempt)
	}
	if err != nil {
		return ledger.Entry{}, false, fmt.Errorf("read attempt %s: %w", id, err)
	}
	return e, true, nil
}

// findAttempt looks on each day there is, because the table is ordered by day.
func findAttempt(ctx context.Context, q querier, id ledger.AttemptID) (e ledger.Entry, day int64, err error) {
	days, err := daysOf(ctx, q, "attempts", "day", firstDay, lastDay)
	if err != nil {
		return e, 0, err
	}
	for _, day := range days {
		row := q.QueryRowContext(ctx, "SELECT "+attemptColumns+" FROM attempts WHERE day = ? AND request = ? AND n = ?",
			day, id.Request.String(), int64(id.N))
		if e, err = scanEntry(row); !errors.Is(err, sql.ErrNoRows) {
			return e, day, err
		}
	}
	return e, 0, sql.ErrNoRows
}

// Export calls fn with each settled attempt that is kept, the oldest day
// first. Corrections are added in, so that the costs add up to the rollups. It
// ends with the first error of fn. Of a price that is not kept only the version is set.
func (s *Reports) Export(ctx context.Context, q report.ExportQuery, fn func(*report.Exported) error) error {
	f, err := newUsesFilter(report.UsesQuery{From: q.From, To: q.To})
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return s.moment(ctx, s.read, "export", func(tx *sql.Tx) error {
		corrected, err := readCorrections(ctx, tx, f.from, f.to, q.Account)
		if err != nil {
			return err
		}
		byAttempt := map[ledger.AttemptID]*correction{}
		for i := range corrected {
			c := &corrected[i]
			if sum := byAttempt[c.id]; sum != nil {
				sum.add(c)
				continue
			}
			byAttempt[c.id] = c
		}
		book := priceBook{}
		if err := book.load(ctx, tx); err != nil {
			return err
		}
		query, args := "SELECT "+of("a", attemptColumns)+", coalesce(c.name, ''), coalesce(k.label, '')"+
			" FROM attempts a LEFT JOIN accounts c ON c.id = a.account LEFT JOIN keys k ON k.id = a.key"+
			" WHERE a.day BETWEEN ? AND ? AND a.outcome <> 'open'", []any{f.from, f.to}
		if q.Account != "" {
			query, args = query+" AND a.account = ?", append(args, q.Account)
		}
		rows, err := tx.QueryContext(ctx, query+" ORDER BY a.day, a.request, a.n", args...)
		return each(rows, err, scanExported, func(e *report.Exported) error {
			if err := book.fillAll(ctx, tx, &e.Attempt); err != nil && !errors.Is(err, errNoPrice) {
				return err
			}
			if c := byAttempt[e.ID]; c != nil {
				left := e.MostCost() - e.Cost + c.uncertain
				e.Cost += c.cost
				e.Margin += c.margin
				e.MarginUncertain += c.marginUncertain
				e.Usage.Add(&c.usage)
				if e.AtMost = 0; left > 0 {
					e.AtMost = e.Cost + left
				}
			}
			return fn(e)
		})
	})
}

// scanExported reads a row of attemptColumns, with the names of the account and the key.
func scanExported(row scanner) (e report.Exported, err error) {
	e.Entry, err = scanEntry(&longer{row, []any{&e.AccountName, &e.KeyLabel}})
	return e, err
}

// longer is a row with more columns behind those that are asked for.
type longer struct {
	scanner
	more []any
}

func (l *longer) Scan(dest ...any) error { return l.scanner.Scan(append(dest, l.more...)...) }
