package store

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"weir/internal/answercache"
	"weir/internal/audit"
)

// Answers stores the answers of the answer cache. Deleted ones are overwritten, so that copies of the database lack
// them.
type Answers struct {
	*conn
	quota AnswerQuota
}

// AnswerQuota bounds the encrypted bytes of stored answers, for an account and in all; 0 for no bound. The oldest
// answers are deleted first.
type AnswerQuota struct{ Account, All int64 }

// AnswerUsage is the amount of answers that is stored for an account.
type AnswerUsage struct {
	Account string `json:"account_id"` // id
	Answers int64  `json:"answers"`
	Bytes   int64  `json:"bytes"`
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
	return s.write(ctx, s.erasing, "store answer", func(tx *sql.Tx) error {
		if err := s.lock(ctx, tx, "answers"); err != nil {
			return err
		}
		const which = "DELETE FROM answers WHERE scope = ? AND key = ?"
		if _, err := deleteAnswers(ctx, tx, which, e.Scope, e.Key); err != nil {
			return err
		}
		n, err := affected(tx.ExecContext(ctx, "INSERT INTO answers (scope, key, account, created, expires, size,"+
			" sealed) SELECT ?, ?, ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM accounts WHERE id = ?"+
			" AND closed IS NULL)", e.Scope, e.Key, e.Account, micros(e.Created), micros(e.Expires), size, e.Sealed,
			e.Account))
		if err != nil || n == 0 {
			return err
		}
		if err := addAnswers(ctx, tx, &AnswerUsage{e.Account, 1, size}); err != nil {
			return err
		}
		return s.enforce(ctx, tx, e.Account)
	})
}

// addAnswers adds an amount, which may be negative, to the sums of its account.
func addAnswers(ctx context.Context, tx *sql.Tx, u *AnswerUsage) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO answer_sums (account, answers, bytes) VALUES (?, ?, ?)"+
		" ON CONFLICT (account) DO UPDATE SET answers = answer_sums.answers + excluded.answers,"+
		" bytes = answer_sums.bytes + excluded.bytes", u.Account, u.Answers, u.Bytes)
	if err != nil {
		return fmt.Errorf("add to sums of answers: %w", err)
	}
	return nil
}

// deleteAnswers runs a statement that deletes answers, subtracts them from the sums, and returns their amount.
func deleteAnswers(ctx context.Context, tx *sql.Tx, statement string, args ...any) (gone AnswerUsage, err error) {
	rows, err := tx.QueryContext(ctx, statement+" RETURNING account, size", args...)
	list, err := collect(rows, err, func(row scanner) (u AnswerUsage, err error) {
		return u, row.Scan(&u.Account, &u.Bytes)
	})
	if err != nil {
		return gone, fmt.Errorf("delete answers: %w", err)
	}
	of := map[string]AnswerUsage{}
	for _, u := range list {
		gone.Answers, gone.Bytes = gone.Answers+1, gone.Bytes+u.Bytes
		of[u.Account] = AnswerUsage{u.Account, of[u.Account].Answers - 1, of[u.Account].Bytes - u.Bytes}
	}
	for _, account := range slices.Sorted(maps.Keys(of)) { // the same lock order everywhere
		u := of[account]
		if err := addAnswers(ctx, tx, &u); err != nil {
			return gone, err
		}
	}
	return gone, nil
}

// Usage returns the amount of each account with stored answers, by its id.
func (s *Answers) Usage(ctx context.Context) ([]AnswerUsage, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT account, answers, bytes FROM answer_sums WHERE answers > 0"+
		" ORDER BY account")
	return listed("read sums of answers", rows, err, func(row scanner) (u AnswerUsage, err error) {
		return u, row.Scan(&u.Account, &u.Answers, &u.Bytes)
	})
}

// enforce deletes the oldest answers beyond the quota of an account, and of all.
func (s *Answers) enforce(ctx context.Context, tx *sql.Tx, account string) error {
	of, sum := int64(0), int64(0)
	err := tx.QueryRowContext(ctx, "SELECT COALESCE(SUM(bytes), 0), COALESCE(SUM(CASE WHEN account = ? THEN bytes"+
		" ELSE 0 END), 0) FROM answer_sums", account).Scan(&sum, &of)
	if err != nil {
		return fmt.Errorf("read sums of answers: %w", err)
	}
	if q := s.quota.Account; q > 0 && of > q {
		gone, err := deleteOldest(ctx, tx, of-q, "account = ?", account)
		if err != nil {
			return err
		}
		sum -= gone
	}
	if q := s.quota.All; q > 0 && sum > q {
		_, err = deleteOldest(ctx, tx, sum-q, "1 = 1")
	}
	return err
}

// deleteOldest deletes the oldest of the selected answers, and at least that many bytes if there are as many. It
// returns how many it has deleted.
func deleteOldest(ctx context.Context, tx *sql.Tx, least int64, where string, args ...any) (bytes int64, err error) {
	for bytes < least {
		keys, err := oldestAnswers(ctx, tx, least-bytes, where, args)
		if err != nil || len(keys) == 0 {
			return bytes, err
		}
		gone, err := deleteAnswers(ctx, tx, deletion(keys), keys...)
		if err != nil {
			return bytes, err
		}
		bytes += gone.Bytes
	}
	return bytes, nil
}

// deletion returns the statement that deletes answers by their scopes and keys.
func deletion(keys []any) string {
	pairs := strings.TrimSuffix(strings.Repeat("(?, ?), ", len(keys)/2), ", ")
	return "DELETE FROM answers WHERE (scope, key) IN (VALUES " + pairs + ")"
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
func (s *Answers) Purge(ctx context.Context, by audit.Actor, account audit.Object, before time.Time) (AnswerUsage,
	error,
) {
	e := audit.Entry{Actor: by, Action: audit.AnswersPurged, Object: account, Account: account.ID}
	note := func(tx *sql.Tx) error {
		_, err := s.note(ctx, tx, e, nil, facts{"before": before.UTC().Format(time.RFC3339)})
		return err
	}
	gone, err := s.remove(ctx, note, "account = ? AND created < ?", account.ID, micros(before))
	gone.Account = account.ID
	return gone, err
}

// answerRows is how many answers one statement deletes.
const answerRows = 200

// remove deletes selected answers, the oldest first. note is called in the first transaction that deletes something; it
// may be nil. Without selected answers it writes nothing.
func (s *Answers) remove(ctx context.Context, note func(*sql.Tx) error, where string, args ...any) (gone AnswerUsage,
	err error,
) {
	for {
		keys, err := oldestAnswers(ctx, s.read, math.MaxInt64, where, args)
		if err != nil || len(keys) == 0 {
			return gone, err
		}
		var some AnswerUsage
		err = s.write(ctx, s.erasing, "delete answers", func(tx *sql.Tx) (err error) {
			if err = s.lock(ctx, tx, "answers"); err != nil {
				return err
			}
			some, err = deleteAnswers(ctx, tx, deletion(keys), keys...)
			if err == nil && note != nil && gone.Answers == 0 && some.Answers > 0 {
				err = note(tx)
			}
			return err
		})
		if err != nil {
			return gone, err
		}
		gone.Answers, gone.Bytes = gone.Answers+some.Answers, gone.Bytes+some.Bytes
	}
}

// oldestAnswers returns the scopes and keys of the selected answers that are deleted first: enough for least bytes, but
// no more than one statement deletes.
func oldestAnswers(ctx context.Context, q querier, least int64, where string, args []any) (keys []any, err error) {
	rows, err := q.QueryContext(ctx, "SELECT scope, key, size FROM answers WHERE "+where+
		" ORDER BY created, scope, key LIMIT ?", append(slices.Clip(args), answerRows)...)
	err = eachRow(rows, err, func(row scanner) error {
		var scope, key string
		var size int64
		if err := row.Scan(&scope, &key, &size); err != nil {
			return err
		}
		if least > 0 {
			keys = append(keys, scope, key)
		}
		least -= size
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find answers to delete: %w", err)
	}
	return keys, nil
}
