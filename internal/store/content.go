package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"weir/internal/audit"
	"weir/internal/contentlog"
	"weir/internal/seal"
)

// Content stores the content log.
type Content struct{ sealedTable }

func newContent(c *conn, quota SealedQuota) *Content {
	return &Content{sealedTable{c, quota, sealedNames{
		table: "content", key: "account, request", size: "length(sealed)", sums: "content_sums", n: "requests",
		turn: "deletion",
	}}}
}

// ContentKey implements contentlog.KeyStore.
func (s *Content) ContentKey(ctx context.Context, account string, day int64, fresh string) (sealed string, err error) {
	read := func(q querier) error {
		err := q.QueryRowContext(ctx, "SELECT sealed FROM content_keys WHERE account = ? AND day = ?", account, day).
			Scan(&sealed)
		if isNone(err) {
			return contentlog.ErrNotFound
		}
		return err
	}
	if err = read(s.read); !errors.Is(err, contentlog.ErrNotFound) || fresh == "" {
		return sealed, err
	}
	err = s.write(ctx, s.erasing, "create content key", func(tx *sql.Tx) error {
		if err := s.inTurn(ctx, tx); err != nil {
			return err
		}
		master, err := masterKey(ctx, tx)
		if err == nil && master != seal.NameOf(fresh) {
			err = contentlog.ErrOtherKey
		}
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO content_keys (account, day, sealed) VALUES (?, ?, ?)"+
			" ON CONFLICT (account, day) DO NOTHING", account, day, fresh)
		if err != nil {
			return err
		}
		return read(tx)
	})
	return sealed, err
}

// Write stores the content of requests. Content of a closed account is left out. Afterwards it deletes the oldest
// content beyond the quotas.
func (s *Content) Write(ctx context.Context, records []contentlog.Record) error {
	slices.SortStableFunc(records, func(a, b contentlog.Record) int { return cmp.Compare(a.Account, b.Account) })
	err := s.write(ctx, s.erasing, "log content", func(tx *sql.Tx) error {
		added := sealedSums{}
		for i := range records {
			r := &records[i]
			n, err := affected(tx.ExecContext(ctx, "INSERT INTO content (account, request, key, created, sealed)"+
				" SELECT ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM accounts WHERE id = ? AND closed IS NULL)"+
				" ON CONFLICT (account, request) DO NOTHING", r.Account, r.Request.String(), r.Key, micros(r.Created),
				r.Sealed, r.Account))
			if err != nil {
				return err
			}
			added.add(r.Account, n, n*int64(len(r.Sealed)))
		}
		return s.addSums(ctx, tx, added, 1)
	})
	if err != nil {
		return err
	}
	return s.enforce(ctx)
}

// enforce deletes the oldest content beyond the quotas.
func (s *Content) enforce(ctx context.Context) error {
	all, err := s.Usage(ctx)
	if err != nil {
		return err
	}
	sum := int64(0)
	for i := range all {
		u := &all[i]
		if s.quota.Account > 0 && u.Bytes > s.quota.Account {
			if err := s.shrinkTo(ctx, s.quota.Account, "account = ?", u.Account); err != nil {
				return err
			}
		}
		sum += u.Bytes
	}
	if s.quota.All > 0 && sum > s.quota.All {
		return s.shrinkTo(ctx, s.quota.All, "1 = 1")
	}
	return nil
}

// shrinkTo deletes the oldest selected content beyond a quota.
func (s *Content) shrinkTo(ctx context.Context, quota int64, where string, args ...any) error {
	for more := true; more; {
		err := s.erase(ctx, "delete content", func(tx *sql.Tx) (err error) {
			more, err = s.shrink(ctx, tx, quota, where, args...)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Retain deletes content that was logged before a time, and keys that encrypt nothing any more. Those of today and
// yesterday stay, because nodes may still use them.
func (s *Content) Retain(ctx context.Context, before time.Time) error {
	if _, err := s.remove(ctx, nil, "created < ?", micros(before)); err != nil {
		return err
	}
	const closed = "account IN (SELECT id FROM accounts WHERE closed IS NOT NULL)" // written while it was closed
	if _, err := s.remove(ctx, nil, closed); err != nil {
		return err
	}
	yesterday := contentlog.DayOf(s.clock.now()) - 1
	const unused = "day < ? AND NOT " + encrypts
	var any bool
	err := s.read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM content_keys WHERE "+unused+")", yesterday).
		Scan(&any)
	if err != nil || !any {
		return err
	}
	return s.erase(ctx, "delete content keys", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM content_keys WHERE "+unused, yesterday)
		return err
	})
}

// Purge deletes the content of an account that was logged before a time, or the content of one of its requests, and
// returns the amount.
func (s *Content) Purge(ctx context.Context, by audit.Actor, account audit.Object, before time.Time,
	request uuid.UUID,
) (SealedUsage, error) {
	where, args := "account = ? AND created < ?", []any{account.ID, micros(before)}
	after := facts{"before": before.UTC().Format(time.RFC3339)}
	if request != uuid.Nil {
		where, args, after = "account = ? AND request = ?", []any{account.ID, request.String()},
			facts{"request": request.String()}
	}
	e := audit.Entry{Actor: by, Action: audit.ContentPurged, Object: account}
	return s.purge(ctx, e, after, where, args...)
}

// encrypts is the condition of a key that content is encrypted with.
const encrypts = "EXISTS (SELECT 1 FROM content c WHERE c.account = content_keys.account" +
	" AND c.created >= content_keys.day * 86400000000 AND c.created < (content_keys.day + 1) * 86400000000)"

// resealContent encrypts the keys of the content log again. It deletes keys that encrypt nothing and whose master key
// is lost.
func resealContent(ctx context.Context, tx *sql.Tx, ring *seal.Ring) (n int, err error) {
	type row struct {
		account string
		day     int64
		sealed  string
	}
	lost := func(x *row) error {
		gone, err := affected(tx.ExecContext(ctx, "DELETE FROM content_keys WHERE account = ? AND day = ? AND NOT "+
			encrypts, x.account, x.day))
		if err == nil && gone == 0 {
			err = seal.ErrNoKey
		}
		return err
	}
	rows, err := tx.QueryContext(ctx, "SELECT account, day, sealed FROM content_keys ORDER BY account, day")
	all, err := collect(rows, err, func(r scanner) (x row, err error) {
		return x, r.Scan(&x.account, &x.day, &x.sealed)
	})
	if err != nil {
		return 0, err
	}
	for _, x := range all {
		sealed, err := ring.Reseal(x.sealed, contentlog.KeyOf(x.account, x.day))
		if errors.Is(err, seal.ErrNoKey) && lost(&x) == nil {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("content key of account %s: %w", x.account, err)
		}
		_, err = tx.ExecContext(ctx, "UPDATE content_keys SET sealed = ? WHERE account = ? AND day = ?", sealed,
			x.account, x.day)
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}
