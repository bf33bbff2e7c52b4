package store

import (
	"context"
	"database/sql"
	"fmt"

	"weir/internal/account"
	"weir/internal/alert"
	"weir/internal/audit"
)

// Limits returns the limits of alerts that the account with that id has set itself.
func (s *Alerts) Limits(ctx context.Context, id string) (alert.Limits, error) {
	all, err := alertLimits(ctx, s.read, " WHERE account = ?", id)
	return all[id], err
}

// SetLimits changes the limits of an account, all of them or nothing, and returns the limits afterwards. The error is
// account.ErrNotFound if there is no such account, or a *llm.Error if it is closed.
func (s *Alerts) SetLimits(ctx context.Context, by audit.Actor, id string, c alert.Changes) (after alert.Limits,
	err error,
) {
	err = s.write(ctx, s.sure, "set limits of alerts", func(tx *sql.Tx) error {
		a, err := s.accountInTurn(ctx, tx, id)
		if err != nil {
			return err
		}
		all, err := alertLimits(ctx, tx, " WHERE account = ?", id)
		if err != nil {
			return err
		}
		before := all[id]
		after = before.With(c)
		for kind, limit := range c {
			if err := setAlertLimit(ctx, tx, id, kind, limit); err != nil {
				return err
			}
		}
		return s.noteAlertLimits(ctx, tx, by, &a, before, after)
	})
	return after, err
}

func setAlertLimit(ctx context.Context, tx *sql.Tx, id string, k alert.Kind, limit *int64) error {
	if limit == nil {
		_, err := tx.ExecContext(ctx, "DELETE FROM alert_limits WHERE account = ? AND kind = ?", id, string(k))
		return err
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO alert_limits (account, kind, bound) VALUES (?, ?, ?)"+
		" ON CONFLICT (account, kind) DO UPDATE SET bound = excluded.bound", id, string(k), *limit)
	return err
}

func (s *Alerts) noteAlertLimits(ctx context.Context, tx *sql.Tx, by audit.Actor, a *account.Account,
	before, after alert.Limits,
) error {
	e := audit.Entry{
		Actor: by, Action: audit.AccountChanged, Account: a.ID,
		Object: audit.Object{Kind: "account", ID: a.ID, Name: a.Name},
	}
	was, became := facts{}, facts{}
	for _, k := range alert.Kinds() {
		name := "alerts." + string(k)
		if limit, ok := before[k]; ok {
			was[name] = limit
		}
		if limit, ok := after[k]; ok {
			became[name] = limit
		}
	}
	_, err := s.note(ctx, tx, e, was, became)
	return err
}

// alertLimits returns the limits of accounts, by id: at most one of each kind for an account.
func alertLimits(ctx context.Context, q querier, where string, args ...any) (map[string]alert.Limits, error) {
	all := map[string]alert.Limits{}
	rows, err := q.QueryContext(ctx, "SELECT account, kind, bound FROM alert_limits"+where, args...)
	err = eachRow(rows, err, func(row scanner) error {
		var id string
		var kind alert.Kind
		var limit int64
		if err := row.Scan(&id, &kind, &limit); err != nil {
			return err
		}
		if all[id] == nil {
			all[id] = alert.Limits{}
		}
		all[id][kind] = limit
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read limits of alerts: %w", err)
	}
	return all, nil
}
