package store

import (
	"context"
	"database/sql"
	"time"
)

// RetainRefusals deletes the counts of whole UTC days before a time, and single refusals before it, adds up older
// minutes to hours, and repairs sums.
func (s *Refusals) RetainRefusals(ctx context.Context, before time.Time) error {
	first := before.UTC().Truncate(24 * time.Hour)
	byHour := s.clock.now().Add(-refusalsByMinute).Truncate(time.Hour)
	for _, deletion := range []struct {
		statement string
		arg       int64
	}{
		{"DELETE FROM refusals WHERE minute < ?", first.Unix()},
		{"DELETE FROM refusals_latest WHERE at < ?", micros(before)},
		{"DELETE FROM refusals_days WHERE day < ?", first.Unix()},
	} {
		err := s.writeDeletion(ctx, "delete refused requests", func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, deletion.statement, deletion.arg)
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := s.retainRefusalSums(ctx, first); err != nil {
		return err
	}
	if err := s.repairSums(ctx, first); err != nil {
		return err
	}
	if err := s.PackRefusals(ctx); err != nil {
		return err
	}
	for more := true; more; {
		err := s.writeDeletion(ctx, "add up refused requests by hour", func(tx *sql.Tx) (err error) {
			more, err = addUpHour(ctx, tx, byHour.Unix())
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// addUpHour adds the minutes of the oldest hour before a time to its first one; false if there is none.
func addUpHour(ctx context.Context, tx *sql.Tx, before int64) (more bool, err error) {
	var oldest sql.NullInt64 // by the index refusals_minutes, which has no hours
	err = tx.QueryRowContext(ctx, "SELECT min(minute) FROM refusals WHERE minute < ? AND minute % 3600 <> 0",
		before).Scan(&oldest)
	if err != nil || !oldest.Valid {
		return false, err
	}
	hour := oldest.Int64 - oldest.Int64%3600
	_, err = tx.ExecContext(ctx, "INSERT INTO refusals (account, minute, key, reason, model, n)"+
		" SELECT account, cast(? AS BIGINT), key, reason, model, cast(sum(n) AS BIGINT) FROM refusals"+
		" WHERE minute > ? AND minute < ? GROUP BY account, key, reason, model"+
		" ON CONFLICT (account, minute, key, reason, model) DO UPDATE SET n = refusals.n + excluded.n",
		hour, hour, hour+3600)
	if err != nil {
		return false, err
	}
	_, err = tx.ExecContext(ctx, "DELETE FROM refusals WHERE minute > ? AND minute < ?", hour, hour+3600)
	return true, err
}

// forgetRefusals deletes the refused requests of an account.
func (s *conn) forgetRefusals(ctx context.Context, account string) error {
	return s.writeDeletion(ctx, "delete refused requests", func(tx *sql.Tx) error {
		counts, err := refusalsOf(ctx, tx, account)
		if err != nil {
			return err
		}
		for _, table := range []string{"refusals", "refusals_latest"} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE account = ?", account); err != nil {
				return err
			}
		}
		if err := subtractRefusals(ctx, tx, counts); err != nil {
			return err
		}
		return dropRefusedDays(ctx, tx, counts, s.clock.now())
	})
}
