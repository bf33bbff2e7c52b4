package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"weir/internal/answercache"
	"weir/internal/audit"
)

// Answers stores the answers of the answer cache.
type Answers struct{ sealedTable }

func newAnswers(c *conn, quota SealedQuota) *Answers {
	return &Answers{sealedTable{c, quota, sealedNames{
		table: "answers", key: "scope, key", size: "size", sums: "answer_sums", n: "answers", turn: "answers",
	}}}
}

// Answer implements answercache.Store.
func (s *Answers) Answer(ctx context.Context, id answercache.ID) (e answercache.Entry, err error) {
	var created, expires int64
	err = s.read.QueryRowContext(ctx, "SELECT account, created, expires, sealed FROM answers WHERE scope = ?"+
		" AND key = ? AND expires > ?", id.Scope, id.Key, micros(s.clock.now())).
		Scan(&e.Account, &created, &expires, &e.Sealed)
	if isNone(err) {
		return e, answercache.ErrNotFound
	}
	if err != nil {
		return e, fmt.Errorf("read a stored answer: %w", err)
	}
	e.ID, e.Created, e.Expires = id, fromMicros(created), fromMicros(expires)
	return e, nil
}

// PutAnswer implements answercache.Store. An answer of a closed account, or larger than a quota, is not stored.
func (s *Answers) PutAnswer(ctx context.Context, e *answercache.Entry) error {
	size := int64(len(e.Sealed))
	if q := s.quota; q.Account > 0 && size > q.Account || q.All > 0 && size > q.All {
		return nil
	}
	return s.erase(ctx, "store answer", func(tx *sql.Tx) error {
		if _, err := s.deleteOldest(ctx, tx, 1, "scope = ? AND key = ?", []any{e.Scope, e.Key}); err != nil {
			return err
		}
		n, err := affected(tx.ExecContext(ctx, "INSERT INTO answers (scope, key, account, created, expires, size,"+
			" sealed) SELECT ?, ?, ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM accounts WHERE id = ?"+
			" AND closed IS NULL)", e.Scope, e.Key, e.Account, micros(e.Created), micros(e.Expires), size, e.Sealed,
			e.Account))
		if err != nil || n == 0 {
			return err
		}
		if err := s.addSums(ctx, tx, sealedSums{e.Account: {Items: 1, Bytes: size}}, 1); err != nil {
			return err
		}
		return s.enforce(ctx, tx, e.Account)
	})
}

// enforce deletes the oldest answers beyond the quota of an account, and of all.
func (s *Answers) enforce(ctx context.Context, tx *sql.Tx, account string) (err error) {
	for more := s.quota.Account > 0; more && err == nil; {
		more, err = s.shrink(ctx, tx, s.quota.Account, "account = ?", account)
	}
	for more := s.quota.All > 0; more && err == nil; {
		more, err = s.shrink(ctx, tx, s.quota.All, "1 = 1")
	}
	return err
}

// Retain deletes expired answers, and those of closed accounts.
func (s *Answers) Retain(ctx context.Context) error {
	if _, err := s.remove(ctx, nil, "expires <= ?", micros(s.clock.now())); err != nil {
		return err
	}
	_, err := s.remove(ctx, nil, "account IN (SELECT id FROM accounts WHERE closed IS NOT NULL)")
	return err
}

// Purge deletes the answers of an account that were stored before a time, and returns the amount.
func (s *Answers) Purge(ctx context.Context, by audit.Actor, account audit.Object, before time.Time) (SealedUsage,
	error,
) {
	return s.purge(ctx, audit.Entry{Actor: by, Action: audit.AnswersPurged, Object: account},
		facts{"before": before.UTC().Format(time.RFC3339)}, "account = ? AND created < ?", account.ID, micros(before))
}
