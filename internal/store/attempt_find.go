package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"weir/internal/ledger"
)

// Attempt returns the attempt with that id as it was settled, or as it was opened if its outcome is
// ledger.OutcomeOpen; false if there is none. It does not include corrections.
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

// findAttempt searches each day, because the table is ordered by day.
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
