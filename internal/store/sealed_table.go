package store

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"weir/internal/audit"
)

// SealedQuota bounds the encrypted bytes of stored items, for an account and in all; 0 for no bound. The oldest items
// are deleted first.
type SealedQuota struct{ Account, All int64 }

// SealedUsage is the amount of items that is stored for an account.
type SealedUsage struct {
	Account string // id
	Items   int64
	Bytes   int64
}

// sealedTable is a table of encrypted items of accounts, with a quota. Deleted items are overwritten, so that copies of
// the database lack them.
type sealedTable struct {
	*conn
	quota SealedQuota
	sealedNames
}

// sealedNames holds the names of a table and of its sums, which have a row for each account.
type sealedNames struct {
	table, key string // the two columns that identify an item
	size       string // the bytes of an item, as an expression
	sums, n    string // the column with the number of items
	turn       string // the lock of transactions that delete items
}

// sealedRows is how many items one transaction deletes.
const sealedRows = 200

// Usage returns the amount of each account with stored items, by its id.
func (s *sealedTable) Usage(ctx context.Context) ([]SealedUsage, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT account, "+s.n+", bytes FROM "+s.sums+" WHERE "+s.n+
		" > 0 ORDER BY account")
	return listed("read sums of "+s.table, rows, err, func(row scanner) (u SealedUsage, err error) {
		return u, row.Scan(&u.Account, &u.Items, &u.Bytes)
	})
}

// sealedSums holds amounts by account.
type sealedSums map[string]*SealedUsage

func (all sealedSums) add(account string, items, bytes int64) {
	u := all[account]
	if u == nil {
		u = &SealedUsage{Account: account}
		all[account] = u
	}
	u.Items, u.Bytes = u.Items+items, u.Bytes+bytes
}

// addSums adds amounts to the sums, or subtracts them if sign is -1, in the same order everywhere.
func (s *sealedTable) addSums(ctx context.Context, tx *sql.Tx, amounts sealedSums, sign int64) error {
	for _, account := range slices.Sorted(maps.Keys(amounts)) {
		u := amounts[account]
		_, err := tx.ExecContext(ctx, "INSERT INTO "+s.sums+" (account, "+s.n+", bytes) VALUES (?, ?, ?)"+
			" ON CONFLICT (account) DO UPDATE SET "+s.n+" = "+s.sums+"."+s.n+" + excluded."+s.n+
			", bytes = "+s.sums+".bytes + excluded.bytes", account, sign*u.Items, sign*u.Bytes)
		if err != nil {
			return fmt.Errorf("add to sums of %s: %w", s.table, err)
		}
	}
	return nil
}

// erase runs a transaction that deletes, alone among those of the table.
func (s *sealedTable) erase(ctx context.Context, doing string, fn func(tx *sql.Tx) error) error {
	return s.write(ctx, s.erasing, doing, func(tx *sql.Tx) error {
		if err := s.lock(ctx, tx, s.turn); err != nil {
			return err
		}
		return fn(tx)
	})
}

// purge deletes selected items of an account, and records that in the audit log if there are any.
func (s *sealedTable) purge(ctx context.Context, e audit.Entry, after facts, where string, args ...any) (SealedUsage,
	error,
) {
	e.Account = e.Object.ID
	gone, err := s.remove(ctx, func(tx *sql.Tx) error {
		_, err := s.note(ctx, tx, e, nil, after)
		return err
	}, where, args...)
	gone.Account = e.Account
	return gone, err
}

// remove deletes selected items, the oldest first. note is called in the first transaction that deletes something; it
// may be nil. Without selected items remove writes nothing: it is called every minute, also where nothing is stored.
func (s *sealedTable) remove(ctx context.Context, note func(*sql.Tx) error, where string, args ...any) (
	gone SealedUsage, err error,
) {
	var more bool
	err = s.read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+s.table+" WHERE "+where+")", args...).Scan(&more)
	if err != nil {
		return gone, fmt.Errorf("find %s to delete: %w", s.table, err)
	}
	for more {
		var some SealedUsage
		err = s.erase(ctx, "delete "+s.table, func(tx *sql.Tx) (err error) {
			some, err = s.deleteOldest(ctx, tx, math.MaxInt64, where, args)
			if more = some.Items == sealedRows; err == nil && note != nil && gone.Items == 0 && some.Items > 0 {
				err = note(tx)
			}
			return err
		})
		if err != nil {
			return gone, err
		}
		gone.Items, gone.Bytes = gone.Items+some.Items, gone.Bytes+some.Bytes
	}
	return gone, nil
}

// shrink deletes the oldest selected items beyond a quota, but no more than one transaction deletes, and reports
// whether there may be more. It reads the amount again, because other nodes delete and write, too.
func (s *sealedTable) shrink(ctx context.Context, tx *sql.Tx, quota int64, where string, args ...any) (more bool,
	err error,
) {
	var excess int64
	err = tx.QueryRowContext(ctx, "SELECT COALESCE(SUM(bytes), 0) - ? FROM "+s.sums+" WHERE "+where,
		append([]any{quota}, args...)...).Scan(&excess)
	if err != nil {
		return false, fmt.Errorf("read sums of %s: %w", s.table, err)
	}
	if excess <= 0 {
		return false, nil
	}
	gone, err := s.deleteOldest(ctx, tx, excess, where, args)
	return gone.Items > 0, err
}

// deleteOldest deletes the oldest of the selected items: enough for least bytes, but no more than sealedRows.
func (s *sealedTable) deleteOldest(ctx context.Context, tx *sql.Tx, least int64, where string, args []any) (
	gone SealedUsage, err error,
) {
	type item struct {
		key     [2]string
		account string
		size    int64
	}
	rows, err := tx.QueryContext(ctx, "SELECT "+s.key+", account, "+s.size+" FROM "+s.table+" WHERE "+where+
		" ORDER BY created, "+s.key+" LIMIT ?", append(slices.Clip(args), sealedRows)...)
	list, err := collect(rows, err, func(row scanner) (x item, err error) {
		return x, row.Scan(&x.key[0], &x.key[1], &x.account, &x.size)
	})
	if err != nil {
		return gone, fmt.Errorf("find %s to delete: %w", s.table, err)
	}
	of := sealedSums{}
	var keys []any
	for _, x := range list {
		if gone.Bytes >= least {
			break
		}
		keys = append(keys, x.key[0], x.key[1])
		of.add(x.account, 1, x.size)
		gone.Items, gone.Bytes = gone.Items+1, gone.Bytes+x.size
	}
	if len(keys) == 0 {
		return gone, nil
	}
	pairs := strings.TrimSuffix(strings.Repeat("(?, ?), ", len(keys)/2), ", ")
	_, err = tx.ExecContext(ctx, "DELETE FROM "+s.table+" WHERE ("+s.key+") IN (VALUES "+pairs+")", keys...)
	if err != nil {
		return gone, fmt.Errorf("delete %s: %w", s.table, err)
	}
	return gone, s.addSums(ctx, tx, of, -1)
}
