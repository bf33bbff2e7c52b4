package store

import (
	"context"
	"database/sql"
	"slices"
	"time"
)

// RetainAttribution deletes the sums by end user and tags of the days before a time.
func (s *Attribution) RetainAttribution(ctx context.Context, before time.Time) error {
	day := dayOf(before)
	err := s.write(ctx, s.sure, "forget end users and tags", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE attributed_days SET state = ? WHERE day < ? AND state <> ?",
			attributionDeleted, day, attributionDeleted)
		if err == nil {
			_, err = tx.ExecContext(ctx, "UPDATE corrections SET attribution = '' WHERE day < ?"+
				" AND attribution <> ''", day)
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

// isClosed reports whether an account is closed. A closed account has no end users and tags any more.
func isClosed(ctx context.Context, q querier, account string) (closed bool, err error) {
	err = q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM accounts WHERE id = ? AND closed IS NOT NULL)",
		account).Scan(&closed)
	return closed, err
}

// isClosedFor reports whether an account is closed, and holds a lock so that it deletes its end users and tags only
// after the transaction has ended.
func (s *conn) isClosedFor(ctx context.Context, tx *sql.Tx, account string) (bool, error) {
	if err := s.lock(ctx, tx, "attribution of "+account); err != nil {
		return false, err
	}
	return isClosed(ctx, tx, account)
}

// forgetAttribution removes end users and tags from the sums of a closed account; the sums remain. The sums over all
// accounts are added up again.
func (s *conn) forgetAttribution(ctx context.Context, account string) error {
	err := s.write(ctx, s.sure, "forget end users and tags", func(tx *sql.Tx) error {
		err := s.lock(ctx, tx, "attribution of "+account) // see isClosedFor
		if err == nil {
			_, err = tx.ExecContext(ctx, "UPDATE corrections SET attribution = '' WHERE account = ?"+
				" AND attribution <> ''", account)
		}
		if err == nil { // wait for transactions that add to a day now and may have read before the account was closed
			_, err = tx.ExecContext(ctx, "UPDATE attributed_days SET day = day WHERE state <> ?", attributionDeleted)
		}
		return err
	})
	if err != nil {
		return err
	}
	// A node that adds up a day now may have read the names before.
	rows, err := s.read.QueryContext(ctx, "SELECT a.day, CASE WHEN d.state = ? THEN a.sums END FROM attribution_sums a"+
		" JOIN attributed_days d ON d.day = a.day WHERE a.account = ?", isAttributed, account)
	var named []int64
	err = eachRow(rows, err, func(row scanner) error {
		var a accountDay
		err := row.Scan(&a.day, &a.sums)
		if err == nil && a.isNamed() {
			named = append(named, a.day)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, day := range named {
		err := s.write(ctx, s.sure, "forget end users and tags", func(tx *sql.Tx) error {
			// It locks the day before its sums, in the order that settling uses.
			_, err := tx.ExecContext(ctx, "UPDATE attributed_days SET day = day WHERE day = ?", day)
			if err == nil {
				err = changeAttributed(ctx, tx, accountOn{account, day}, func(have buckets, _ string) (buckets, error) {
					return have.folded(bucket.withoutAttribution), nil
				})
			}
			if err == nil {
				err = dropSums(ctx, tx, day, allAccounts)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// isNamed reports whether sums name end users or tags, or may do so.
func (a *accountDay) isNamed() bool {
	if a.sums == nil {
		return true
	}
	u, err := unpackSums(a.sums, measureColumns())
	return err != nil || slices.ContainsFunc(u.attributions, func(of attributed) bool { return of.text() != "" })
}

// closedLately is how long the names of a closed account are searched again, because the process that closed it may
// have ended before they were deleted.
const closedLately = 24 * time.Hour

// forgetClosed removes end users, tags and refused requests of accounts that were closed recently: nodes may have
// written some after the closing.
func (s *conn) forgetClosed(ctx context.Context) error {
	rows, err := s.read.QueryContext(ctx, "SELECT id FROM accounts WHERE closed > ?",
		micros(s.clock.now().Add(-closedLately)))
	accounts, err := collect(rows, err, scanOne[string])
	for _, account := range accounts {
		if err == nil {
			err = s.forgetAttribution(ctx, account)
		}
		if err == nil {
			err = s.forgetRefusals(ctx, account)
		}
	}
	return err
}
