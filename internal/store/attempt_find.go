package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"weir/internal/ledger"
)

// Attempt returns the attempt with that id as it was settled, or as it was opened if its outcome is
// ledger.OutcomeOpen; false if there is none. It does not include corrections.
func (s *Reports) Attempt(ctx context.Context, id ledger.AttemptID) (ledger.Entry, bool, error) {
	r, err := findAttempt(ctx, s.read, id)
	if errors.Is(err, ledger.ErrNoAttempt) {
		return ledger.Entry{}, false, nil
	}
	if err == nil {
		err = priceBook{}.fillAll(ctx, s.read, &r.Attempt)
	}
	if err != nil {
		return ledger.Entry{}, false, fmt.Errorf("read attempt %s: %w", id, err)
	}
	return r.Entry, true, nil
}

// findAttempt returns an attempt, or ledger.ErrNoAttempt.
func findAttempt(ctx context.Context, q querier, id ledger.AttemptID) (r storedRow, err error) {
	list, err := findOnDays(ctx, q, id.Request, func(day int64) rowsQuery {
		return rowsQuery{from: placeOf(day, id), to: placeOf(day, id).next(), limit: 1}
	})
	if err == nil && len(list) == 0 {
		err = ledger.ErrNoAttempt
	}
	if err != nil {
		return r, err
	}
	return list[0], nil
}

// findRequest returns the attempts of a request.
func findRequest(ctx context.Context, q querier, request uuid.UUID) ([]storedRow, error) {
	return findOnDays(ctx, q, request, func(day int64) rowsQuery {
		return rowsQuery{from: placeOfRequest(day, request), to: afterRequest(day, request), limit: math.MaxUint16}
	})
}

// findOnDays returns the rows of the first day that has any. It searches each day, because the rows are ordered by day,
// and first the day of the request's id.
func findOnDays(ctx context.Context, q querier, request uuid.UUID, on func(day int64) rowsQuery) ([]storedRow, error) {
	days, err := attemptDays(ctx, q, firstDay, lastDay)
	if err != nil {
		return nil, err
	}
	likely := dayOf(time.UnixMilli(0).Add(ledger.TimeOf(request)))
	if i := slices.Index(days, likely); i > 0 {
		days[0], days[i] = days[i], days[0]
	}
	for _, day := range days {
		query := on(day)
		if list, err := readRows(ctx, q, &query); err != nil || len(list) > 0 {
			return list, err
		}
	}
	return nil, nil
}
