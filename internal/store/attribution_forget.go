package store

import (
	"context"
	"database/sql"
	"slices"
	"time"
)

// RetainAttribution deletes the sums by end user and tags of days before a moment.
func (s *Ledger) RetainAttribution(ctx context.Context, before time.Time) error {
	day := dayOf(before)
	err := s.write(ctx, s.sure, "forget end users and tags", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE attribution_days SET state = ? WHERE day < ? AND state <> ?", attributionDeleted, day, attributionDeleted)
		if err == nil {
			_, err = tx.ExecContext(ctx, "UPDATE corrections SET attribution = '' WHERE day < ? AND attribution <> ''", day)
		}
		return err
	})
	if err != nil {
		return err
	}
	deleted, err := attributedDays(ctx, s.read, attributionDeleted, attributionDeleted)
	if err != nil {
		return err
	}
	days, err := daysOf(ctx, s.read, "attribution_sums", "day", firstDay, day-1)
	if err != nil {
		return err
	}
	for _, day := range days {
		sums := leftover{table: "attribution_sums", key: "account, day", where: "day = ?", args: []any{day}}
		for left := slices.Contains(deleted, day); left; {
			err := s.writeDeletion(ctx, "forget end users and tags", func(tx *sql.Tx) (err error) {
				left, err = sums.deleteSome(ctx, tx)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// isClosed reports whether an account is closed, whose end users and tags nobody has any more.
func isClosed(ctx context.Context, q querier, account string) (closed bool, err error) {
	err = q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM accounts WHERE id = ? AND closed IS NOT NULL)", account).Scan(&closed)
	return closed, err
}

// forgetAttribution takes end users and tags out of the sums of an account that is closed, which stay.
func (s *Accounts) forgetAttribution(ctx context.Context, account string) error {
	err := s.write(ctx, s.sure, "forget end users and tags", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE corrections SET attribution = '' WHERE account = ?", account)
		if err == nil { // those who add to a day now, and may have asked before the account was closed, end first
			_, err = tx.ExecContext(ctx, "UPDATE attribution_days SET day = day WHERE state = ?", isAttributed)
		}
		return err
	})
	if err != nil {
		return err
	}
	rows, err := s.read.QueryContext(ctx, "SELECT day FROM attribution_sums WHERE account = ?", account)
	days, err := collect(rows, err, func(row scanner) (day int64, err error) { return day, row.Scan(&day) })
	if err != nil {
		return err
	}
	for _, day := range days {
		err := s.write(ctx, s.sure, "forget end users and tags", func(tx *sql.Tx) error {
			return changeAttributed(ctx, tx, account, day, func(have buckets) (buckets, error) {
				return have.folded(bucket.withoutAttribution), nil
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}
