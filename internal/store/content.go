package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/audit"
	"weir/internal/contentlog"
	"weir/internal/seal"
)

// Content stores the content log. Deleted rows are overwritten, so that copies of the database lack them.
type Content struct {
	*conn
	quota ContentQuota
}

// ContentQuota bounds the encrypted bytes of the content log, for an account and in all; 0 for no bound. The oldest
// content is deleted first.
type ContentQuota struct{ Account, All int64 }

// ContentUsage is the amount of content that is logged for an account.
type ContentUsage struct {
	Account  string `json:"account_id"` // id
	Requests int64  `json:"requests"`
	Bytes    int64  `json:"bytes"`
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
		added := map[string]*ContentUsage{}
		for i := range records {
			r := &records[i]
			n, err := affected(tx.ExecContext(ctx, "INSERT INTO content (account, request, key, created, sealed)"+
				" SELECT ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM accounts WHERE id = ? AND closed IS NULL)"+
				" ON CONFLICT (account, request) DO NOTHING", r.Account, r.Request.String(), r.Key, micros(r.Created),
				r.Sealed, r.Account))
			if err != nil {
				return err
			}
			addContent(added, r.Account, n, n*int64(len(r.Sealed)))
		}
		return changeContentSums(ctx, tx, added, 1)
	})
	if err != nil {
		return err
	}
	return s.enforce(ctx)
}

// addContent adds an amount to that of an account.
func addContent(to map[string]*ContentUsage, account string, requests, bytes int64) {
	u := to[account]
	if u == nil {
		u = &ContentUsage{Account: account}
		to[account] = u
	}
	u.Requests, u.Bytes = u.Requests+requests, u.Bytes+bytes
}

// changeContentSums adds amounts to the sums, or subtracts them if sign is -1, in the same order everywhere.
func changeContentSums(ctx context.Context, tx *sql.Tx, amounts map[string]*ContentUsage, sign int64) error {
	for _, account := range slices.Sorted(maps.Keys(amounts)) {
		u := amounts[account]
		_, err := tx.ExecContext(ctx, "INSERT INTO content_sums (account, requests, bytes) VALUES (?, ?, ?)"+
			" ON CONFLICT (account) DO UPDATE SET requests = content_sums.requests + excluded.requests,"+
			" bytes = content_sums.bytes + excluded.bytes", account, sign*u.Requests, sign*u.Bytes)
		if err != nil {
			return fmt.Errorf("add to sums of content: %w", err)
		}
	}
	return nil
}

// Usage returns the amount of each account with logged content, by its id.
func (s *Content) Usage(ctx context.Context) ([]ContentUsage, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT account, requests, bytes FROM content_sums WHERE requests > 0"+
		" ORDER BY account")
	return listed("read sums of content", rows, err, func(row scanner) (u ContentUsage, err error) {
		return u, row.Scan(&u.Account, &u.Requests, &u.Bytes)
	})
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
			if err := s.shrink(ctx, s.quota.Account, "account = ?", u.Account); err != nil {
				return err
			}
		}
		sum += u.Bytes
	}
	if s.quota.All > 0 && sum > s.quota.All {
		return s.shrink(ctx, s.quota.All, "1 = 1")
	}
	return nil
}

// shrink deletes the oldest selected content beyond a quota. Each transaction reads the amount again, because other
// nodes delete and write, too.
func (s *Content) shrink(ctx context.Context, quota int64, where string, args ...any) error {
	for more := true; more; {
		err := s.erase(ctx, "delete content", func(tx *sql.Tx) error {
			var excess int64
			err := tx.QueryRowContext(ctx, "SELECT COALESCE(sum(bytes), 0) - ? FROM content_sums WHERE "+where,
				append([]any{quota}, args...)...).Scan(&excess)
			if more = excess > 0; err != nil || !more {
				return err
			}
			of, _, err := removeSome(ctx, tx, where, args, excess)
			if err != nil {
				return err
			}
			more = len(of) > 0
			return changeContentSums(ctx, tx, of, -1)
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
	if _, _, err := s.remove(ctx, nil, "created < ?", micros(before)); err != nil {
		return err
	}
	const closed = "account IN (SELECT id FROM accounts WHERE closed IS NOT NULL)" // written while it was closed
	if _, _, err := s.remove(ctx, nil, closed); err != nil {
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
) (u ContentUsage, err error) {
	where, args := "account = ? AND created < ?", []any{account.ID, micros(before)}
	after := facts{"before": before.UTC().Format(time.RFC3339)}
	if request != uuid.Nil {
		where, args, after = "account = ? AND request = ?", []any{account.ID, request.String()},
			facts{"request": request.String()}
	}
	e := audit.Entry{Actor: by, Action: audit.ContentPurged, Object: account, Account: account.ID}
	note := func(tx *sql.Tx) error {
		_, err := s.note(ctx, tx, e, nil, after)
		return err
	}
	u.Account = account.ID
	u.Requests, u.Bytes, err = s.remove(ctx, note, where, args...)
	return u, err
}

// erase is like writeDeletion, and overwrites the deleted bytes.
func (s *Content) erase(ctx context.Context, doing string, fn func(tx *sql.Tx) error) error {
	return s.write(ctx, s.erasing, doing, func(tx *sql.Tx) error {
		if err := s.lock(ctx, tx, "deletion"); err != nil {
			return err
		}
		return fn(tx)
	})
}

// remove deletes selected content, the oldest first. note is called in the first transaction that deletes something; it
// may be nil. Without selected content it writes nothing: it is called every minute, also where no content is logged.
func (s *Content) remove(ctx context.Context, note func(*sql.Tx) error, where string, args ...any) (
	requests, bytes int64, err error,
) {
	var more bool
	err = s.read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM content WHERE "+where+")", args...).Scan(&more)
	if err != nil {
		return 0, 0, fmt.Errorf("find content to delete: %w", err)
	}
	for more {
		var of map[string]*ContentUsage
		err = s.erase(ctx, "delete content", func(tx *sql.Tx) (err error) {
			of, more, err = removeSome(ctx, tx, where, args, math.MaxInt64)
			if err == nil && note != nil && requests == 0 && len(of) > 0 {
				err = note(tx)
			}
			if err != nil {
				return err
			}
			return changeContentSums(ctx, tx, of, -1)
		})
		if err != nil {
			return requests, bytes, err
		}
		for _, u := range of {
			requests, bytes = requests+u.Requests, bytes+u.Bytes
		}
	}
	return requests, bytes, nil
}

// contentRows is how many rows of content one transaction deletes.
const contentRows = 200

// removeSome deletes the portion of one transaction, and reports whether there may be more.
func removeSome(ctx context.Context, tx *sql.Tx, where string, args []any, least int64) (of map[string]*ContentUsage,
	more bool, err error,
) {
	type row struct {
		account, request string
		size             int64
	}
	rows, err := tx.QueryContext(ctx, "SELECT account, request, length(sealed) FROM content WHERE "+where+
		" ORDER BY created, account, request LIMIT ?", append(slices.Clip(args), contentRows)...)
	list, err := collect(rows, err, func(r scanner) (x row, err error) {
		return x, r.Scan(&x.account, &x.request, &x.size)
	})
	if err != nil {
		return nil, false, err
	}
	of = map[string]*ContentUsage{}
	var keys []any
	for _, x := range list {
		if least <= 0 {
			break
		}
		keys = append(keys, x.account, x.request)
		addContent(of, x.account, 1, x.size)
		least -= x.size
	}
	if len(keys) == 0 {
		return of, false, nil
	}
	pairs := strings.TrimSuffix(strings.Repeat("(?, ?), ", len(keys)/2), ", ")
	_, err = tx.ExecContext(ctx, "DELETE FROM content WHERE (account, request) IN (VALUES "+pairs+")", keys...)
	return of, len(list) == contentRows, err
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
