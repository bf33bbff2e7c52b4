package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"weir/internal/signin"
)

// errWait rolls back the counts of an attempt that has to wait.
var errWait = errors.New("wait")

// TrySignIn counts an attempt as failed in all marks. If one of them requires a wait, it counts nothing and returns
// how long.
func (s *Sessions) TrySignIn(ctx context.Context, marks []signin.Mark, now time.Time) (wait time.Duration, known bool,
	err error,
) {
	err = s.write(ctx, s.sure, "count attempt to sign in", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM throttles WHERE at < ? AND known < ?",
			micros(now.Add(-signin.FailuresFor)), micros(now.Add(-signin.KnownFor)))
		if err != nil {
			return err
		}
		wait, known = 0, false
		for i := range marks {
			w, k, err := countFailure(ctx, tx, &marks[i], now)
			if err != nil {
				return err
			}
			if i == 0 || !known {
				wait = max(wait, w)
			}
			known = known || i == 0 && k
		}
		if wait > 0 {
			return errWait
		}
		return nil
	})
	if errors.Is(err, errWait) {
		return wait, known, nil
	}
	return 0, known, err
}

// countFailure counts one failure in a mark. It returns how long the caller must wait, and whether the mark had a
// recent success. The insertion locks the row, so that concurrent attempts read the new count.
func countFailure(ctx context.Context, tx *sql.Tx, m *signin.Mark, now time.Time) (wait time.Duration, known bool,
	err error,
) {
	var failures, until, success int64
	err = tx.QueryRowContext(ctx, "INSERT INTO throttles (scope, failures, until, at, known) VALUES (?, 1, 0, ?, 0)"+
		" ON CONFLICT (scope) DO UPDATE SET failures = CASE WHEN throttles.at < ? THEN 1 ELSE throttles.failures + 1 "+
		"END, at = excluded.at"+
		" RETURNING failures, until, known", m.Scope, micros(now), micros(now.Add(-signin.FailuresFor))).Scan(&failures,
		&until, &success)
	if err != nil {
		return 0, false, err
	}
	_, err = tx.ExecContext(ctx, "UPDATE throttles SET until = ? WHERE scope = ?", micros(now.Add(m.Delay(failures))),
		m.Scope)
	return fromMicros(until).Sub(now), success > micros(now.Add(-signin.KnownFor)), err
}

// PassSignIn undoes the counts of TrySignIn, because the attempt succeeded.
func (s *Sessions) PassSignIn(ctx context.Context, marks []signin.Mark, now time.Time) error {
	return s.write(ctx, s.sure, "count sign-in", func(tx *sql.Tx) error {
		for i := range marks {
			m := &marks[i]
			var err error
			if m.Shared {
				_, err = tx.ExecContext(
					ctx, "UPDATE throttles SET failures = failures - 1 WHERE scope = ? AND failures > 0", m.Scope)
			} else {
				_, err = tx.ExecContext(ctx, "UPDATE throttles SET failures = 0, until = 0, known = ? WHERE scope = ?",
					micros(now), m.Scope)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
