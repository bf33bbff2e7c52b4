package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"weir/internal/audit"
	"weir/internal/idempotency"
	"weir/internal/stored"
)

// Kept stores data for clients: replies to idempotent requests, and responses.
type Kept struct {
	*conn
	quota    stored.Quota
	together together
}

// checkSpace returns stored.DiskFull if the disk has no room. Replies of the administration API, which have an empty
// account, are not checked: they are small, and each belongs to a change that is written anyway.
func (s *Kept) checkSpace(account string, size int64) error {
	if s.engine.free == nil || s.quota.FreeDisk == 0 || account == "" {
		return nil
	}
	free, err := s.engine.free()
	if err != nil {
		return fmt.Errorf("read free disk space: %w", err)
	}
	if free-size < s.quota.FreeDisk {
		return stored.DiskFull
	}
	return nil
}

// enter adds n items of a kind to the account's sums, or returns stored.OverQuota. The sums of an account are one row,
// so that concurrent nodes cannot exceed the quota.
func (s *Kept) enter(ctx context.Context, tx *sql.Tx, account string, kind stored.Kind, n, size int64) error {
	bytes, number := cmp.Or(s.quota.Bytes, math.MaxInt64), cmp.Or(s.quota.Number, math.MaxInt64)
	if account == "" {
		bytes, number = math.MaxInt64, math.MaxInt64
	}
	if size > bytes || n > number {
		return stored.OverQuota
	}
	columns, added := "replies, reply_bytes",
		"replies = kept.replies + excluded.replies, reply_bytes = kept.reply_bytes + excluded.reply_bytes"
	if kind == stored.Response {
		columns, added = "responses, response_bytes",
			"responses = kept.responses + excluded.responses, response_bytes = kept.response_bytes +"+
				" excluded.response_bytes"
	}
	result, err := tx.ExecContext(ctx, "INSERT INTO kept (account, "+columns+
		") VALUES (?, ?, ?) ON CONFLICT (account) DO UPDATE SET "+added+
		" WHERE kept.replies + kept.responses <= ? AND kept.reply_bytes + kept.response_bytes <= ?", account, n,
		size, number-n, bytes-size)
	if err != nil {
		return fmt.Errorf("add to kept sums: %w", err)
	}
	if rows, err := result.RowsAffected(); err != nil || rows > 0 {
		return err
	}
	return stored.OverQuota
}

// giveBack runs a statement that returns the account and size of rows of a kind that are deleted, and subtracts them
// from the sums. A size of 0 means that nothing was stored for the request. It returns the sums and how many rows
// there were.
func (s *Kept) giveBack(ctx context.Context, tx *sql.Tx, kind stored.Kind, statement string, args ...any) (
	all stored.Usage, n int64, err error,
) {
	by := map[string]*stored.Usage{}
	rows, err := tx.QueryContext(ctx, statement, args...)
	err = each(rows, err, func(row scanner) (u stored.Usage, err error) {
		var size int64
		err = row.Scan(&u.Account, &size)
		switch {
		case kind == stored.Response:
			u.Responses, u.ResponseBytes = 1, size
		case size > 0:
			u.Replies, u.ReplyBytes = 1, size
		}
		return u, err
	}, func(u *stored.Usage) error {
		n++
		if by[u.Account] == nil {
			by[u.Account] = &stored.Usage{}
		}
		by[u.Account].Add(u)
		return nil
	})
	if err != nil {
		return all, n, err
	}
	for _, account := range slices.Sorted(maps.Keys(by)) { // the same lock order everywhere
		u := by[account]
		if all.Add(u); u.Replies+u.Responses == 0 {
			continue
		}
		_, err := tx.ExecContext(
			ctx, "UPDATE kept SET replies = replies - ?, reply_bytes = reply_bytes - ?, responses = responses - ?,"+
				" response_bytes = response_bytes - ? WHERE account = ?", u.Replies, u.ReplyBytes, u.Responses,
			u.ResponseBytes, account)
		if err != nil {
			return all, n, fmt.Errorf("subtract from kept sums: %w", err)
		}
	}
	return all, n, nil
}

// Usage returns the amounts that are stored for each account that has any, by its id.
func (s *Kept) Usage(ctx context.Context) ([]stored.Usage, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT account, replies, reply_bytes, responses, response_bytes FROM kept"+
		" WHERE replies + responses > 0 ORDER BY account")
	return listed("read kept sums", rows, err, func(row scanner) (u stored.Usage, err error) {
		return u, row.Scan(&u.Account, &u.Replies, &u.ReplyBytes, &u.Responses, &u.ResponseBytes)
	})
}

// Purge deletes the data that was stored for an account before a time: responses completely, replies except for the
// fact that their keys were used, so that no request with such a key is run twice. It returns the deleted amounts. If
// it is called again after an error, it continues.
func (s *Kept) Purge(ctx context.Context, by audit.Actor, account audit.Object, before time.Time) (all stored.Usage,
	err error,
) {
	for first, more := true, true; more; first = false {
		var some stored.Usage
		err := s.writeDeletion(ctx, "purge kept data", func(tx *sql.Tx) (err error) {
			if some, err = s.purgeSome(ctx, tx, account.ID, micros(before)); err != nil || !first ||
				some == (stored.Usage{}) {
				return err
			}
			e := audit.Entry{Actor: by, Action: audit.KeptPurged, Object: account, Account: account.ID}
			_, err = s.note(ctx, tx, e, nil, facts{"before": before.UTC().Format(time.RFC3339)})
			return err
		})
		if err != nil {
			return all, err
		}
		all.Add(&some)
		more = some.Replies > 0 || some.Responses > 0
	}
	return all, nil
}

// purgeSome purges the portion of one transaction.
func (s *Kept) purgeSome(ctx context.Context, tx *sql.Tx, account string, before int64) (stored.Usage, error) {
	const replies = "UPDATE idempotency SET state = ?, reply = NULL WHERE (scope, key) IN (SELECT scope, key FROM " +
		"idempotency" +
		" WHERE account = ? AND expires < ? AND reply IS NOT NULL LIMIT ?) AND reply IS NOT NULL" +
		" RETURNING account, size"
	made := before + idempotency.TTL.Microseconds() // compared with the expiry
	some, n, err := s.giveBack(ctx, tx, stored.Reply, replies, string(idempotency.Spent), account, made, retainRows)
	if err != nil || n > 0 {
		return some, err
	}
	const responses = "DELETE FROM responses WHERE id IN (SELECT id FROM responses WHERE account = ? AND created < ? " +
		"LIMIT ?) RETURNING account, size"
	some, _, err = s.giveBack(ctx, tx, stored.Response, responses, account, before, retainRows)
	return some, err
}
