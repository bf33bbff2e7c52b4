package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"weir/internal/account"
)

const accountColumns = "id, name, suspended, on_hangup, budget, budget_period, created"

func scanAccount(row scanner) (a account.Account, err error) {
	var created int64
	err = row.Scan(accountDest(&a, &created)...)
	a.Created = fromMicros(created)
	return a, err
}

// accountDest are the places to scan accountColumns into.
func accountDest(a *account.Account, created *int64) []any {
	return []any{&a.ID, &a.Name, &a.Suspended, &a.OnHangup, &a.Budget.Limit, &a.Budget.Period, created}
}

// Accounts are all accounts by name; or the one of that name or id, if there
// is one.
func (s *Store) Accounts(ctx context.Context, nameOrID string) ([]account.Account, error) {
	query, args := "SELECT "+accountColumns+" FROM accounts", []any(nil)
	if nameOrID != "" {
		query, args = query+" WHERE id = ? OR name = ?", []any{nameOrID, nameOrID}
	}
	rows, err := s.read.QueryContext(ctx, query+" ORDER BY name", args...)
	list, err := collect(rows, err, scanAccount)
	if err != nil {
		return nil, fmt.Errorf("read accounts: %w", err)
	}
	return list, nil
}

// CreateAccount adds an account; account.ErrExists when its name is taken.
func (s *Store) CreateAccount(ctx context.Context, a account.Account) error {
	return s.write(ctx, s.sure, "create account", func(tx *sql.Tx) error {
		created, err := s.insertAccount(ctx, tx, &a, "WHERE NOT EXISTS (SELECT 1 FROM accounts WHERE name = ?)", a.Name)
		if err == nil && !created {
			err = account.ErrExists
		}
		return err
	})
}

// Bootstrap adds the account if there is none at all, and reports whether it
// did.
func (s *Store) Bootstrap(ctx context.Context, a account.Account) (created bool, err error) {
	err = s.write(ctx, s.sure, "create first account", func(tx *sql.Tx) error {
		created, err = s.insertAccount(ctx, tx, &a, "WHERE NOT EXISTS (SELECT 1 FROM accounts)")
		return err
	})
	return created, err
}

// insertAccount adds an account if the condition holds.
func (s *Store) insertAccount(ctx context.Context, tx *sql.Tx, a *account.Account, condition string, args ...any) (bool, error) {
	result, err := tx.ExecContext(ctx, "INSERT INTO accounts ("+accountColumns+") SELECT ?, ?, ?, ?, ?, ?, ? "+condition,
		append([]any{a.ID, a.Name, number(a.Suspended), string(a.OnHangup), int64(a.Budget.Limit), string(a.Budget.Period), micros(a.Created)}, args...)...)
	if err != nil {
		return false, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return false, err
	}
	return true, s.changed(ctx, tx, account.ChangedAccount, a.ID)
}

// UpdateAccount changes the account of that id and returns it as it is then;
// or account.ErrNotFound.
func (s *Store) UpdateAccount(ctx context.Context, id string, u account.Update) (a account.Account, err error) {
	var suspended, hangup, limit, period any // NULL leaves a column as it is
	if u.Suspended != nil {
		suspended = number(*u.Suspended)
	}
	if u.OnHangup != nil {
		hangup = string(*u.OnHangup)
	}
	if u.Budget != nil {
		limit, period = int64(u.Budget.Limit), string(u.Budget.Period)
	}
	err = s.write(ctx, s.sure, "update account", func(tx *sql.Tx) error {
		row := tx.QueryRowContext(ctx, "UPDATE accounts SET suspended = coalesce(?, suspended), on_hangup = coalesce(?, on_hangup),"+
			" budget = coalesce(?, budget), budget_period = coalesce(?, budget_period) WHERE id = ? RETURNING "+accountColumns,
			suspended, hangup, limit, period, id)
		if a, err = scanAccount(row); err != nil {
			return orNotFound(err)
		}
		return s.changed(ctx, tx, account.ChangedAccount, id)
	})
	return a, err
}

// CreateSetupToken keeps the hash of a token that is good once, until it
// expires.
func (s *Store) CreateSetupToken(ctx context.Context, hash account.Hash, created, expires time.Time) error {
	return s.write(ctx, s.sure, "create set-up token", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO setup_tokens (hash, created, expires) VALUES (?, ?, ?)",
			hash.String(), micros(created), micros(expires))
		return err
	})
}

// orNotFound says in account's words that a row is not there.
func orNotFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return account.ErrNotFound
	}
	return err
}
