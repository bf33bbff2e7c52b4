package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"weir/internal/account"
)

const keyColumns = "id, account, label, last4, permissions, models, created, expires, revoked, rpm, tpm, concurrency, budget, budget_period"

// keyRow is a row of keyColumns, before what is encoded in it is read.
type keyRow struct {
	account.Key
	permissions, models string
	created             int64
	expires, revoked    sql.NullInt64
}

func (r *keyRow) dest() []any {
	return []any{
		&r.ID, &r.AccountID, &r.Label, &r.Last4, &r.permissions, &r.models, &r.created, &r.expires, &r.revoked,
		&r.Limits.RPM, &r.Limits.TPM, &r.Limits.Concurrency, &r.Budget.Limit, &r.Budget.Period,
	}
}

func (r *keyRow) key() (account.Key, error) {
	k := r.Key
	k.Created = fromMicros(r.created)
	k.Expires, k.Revoked = optionalTime(r.expires), optionalTime(r.revoked)
	if err := json.Unmarshal([]byte(r.permissions), &k.Permissions); err != nil {
		return k, fmt.Errorf("key %s: permissions: %w", k.ID, err)
	}
	if err := json.Unmarshal([]byte(r.models), &k.Models); err != nil {
		return k, fmt.Errorf("key %s: models: %w", k.ID, err)
	}
	return k, nil
}

func optionalTime(us sql.NullInt64) *time.Time {
	if !us.Valid {
		return nil
	}
	return new(fromMicros(us.Int64))
}

func scanKey(row scanner) (account.Key, error) {
	var r keyRow
	if err := row.Scan(r.dest()...); err != nil {
		return account.Key{}, err
	}
	return r.key()
}

// KeyByHash is the key whose token has that hash, revoked and expired ones
// too, and its account; or account.ErrNotFound.
func (s *Store) KeyByHash(ctx context.Context, hash account.Hash) (a account.Account, k account.Key, err error) {
	var (
		r   keyRow
		row accountRow
	)
	err = s.read.QueryRowContext(ctx, "SELECT a.id, a.name, a.suspended, a.on_hangup, a.budget, a.budget_period, a.rpm, a.tpm, a.concurrency,"+
		" a.credit, a.credit_from, a.created,"+
		" k.id, k.account, k.label, k.last4, k.permissions, k.models, k.created, k.expires, k.revoked,"+
		" k.rpm, k.tpm, k.concurrency, k.budget, k.budget_period"+
		" FROM keys k JOIN accounts a ON a.id = k.account WHERE k.hash = ?", hash.String()).
		Scan(append(row.dest(), r.dest()...)...)
	if err != nil {
		return a, k, fmt.Errorf("read key: %w", orNotFound(err))
	}
	k, err = r.key()
	return row.account(), k, err
}

// Keys are the keys of the account of that id, oldest first.
func (s *Store) Keys(ctx context.Context, accountID string) ([]account.Key, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT "+keyColumns+" FROM keys WHERE account = ? ORDER BY created, id", accountID)
	list, err := collect(rows, err, scanKey)
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	return list, nil
}

// CreateKey adds a key whose token has that hash.
func (s *Store) CreateKey(ctx context.Context, k account.Key, hash account.Hash) error {
	permissions, err := jsonList(k.Permissions)
	if err != nil {
		return err
	}
	models, err := jsonList(k.Models)
	if err != nil {
		return err
	}
	return s.write(ctx, s.sure, "create key", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO keys ("+keyColumns+", hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			k.ID, k.AccountID, k.Label, k.Last4, permissions, models, micros(k.Created), microsOrNil(k.Expires), microsOrNil(k.Revoked),
			k.Limits.RPM, k.Limits.TPM, k.Limits.Concurrency, int64(k.Budget.Limit), string(k.Budget.Period), hash.String())
		if err != nil {
			return err
		}
		return s.changed(ctx, tx, account.ChangedKey, k.ID)
	})
}

// jsonList is a list as it is stored; nil is an empty one.
func jsonList[T ~string](list []T) (string, error) {
	if list == nil {
		list = []T{}
	}
	b, err := json.Marshal(list)
	return string(b), err
}

// RevokeKey revokes the key of that id, unless it is revoked, and returns it
// as it is then; or account.ErrNotFound.
func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time) (k account.Key, err error) {
	err = s.write(ctx, s.sure, "revoke key", func(tx *sql.Tx) error {
		row := tx.QueryRowContext(ctx, "UPDATE keys SET revoked = coalesce(revoked, ?) WHERE id = ? RETURNING "+keyColumns, micros(at), id)
		if k, err = scanKey(row); err != nil {
			return orNotFound(err)
		}
		return s.changed(ctx, tx, account.ChangedKey, id)
	})
	return k, err
}
