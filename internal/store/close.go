package store

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
)

// ofAccount selects the audit log's entries about an account that have a hash in place of a name that can be deleted.
const ofAccount = " WHERE object_proof <> '' AND account = ? AND "

// CloseAccount closes the account with that id permanently and returns it; the error is account.ErrNotFound if it
// does not exist. Its keys are revoked, and its members, invitations, webhook endpoints and the data stored for its
// clients are deleted. Names of people are deleted as well: the account's name, and the labels and tags of its keys,
// also in the audit log, end users and tags in sums, and refused requests. A closed account is returned unchanged.
func (s *Accounts) CloseAccount(ctx context.Context, by audit.Actor, id string, at time.Time) (a account.Account,
	err error,
) {
	err = s.write(ctx, s.sure, "close account", func(tx *sql.Tx) error {
		before, err := s.anyAccountInTurn(ctx, tx, id)
		if a = before; err != nil || before.Closed != nil {
			return err
		}
		a, err = s.closeAccount(ctx, tx, by, &before, at)
		return err
	})
	if err == nil {
		err = s.forgetAttribution(ctx, a.ID)
	}
	if err == nil {
		err = s.forgetRefusals(ctx, a.ID)
	}
	if err == nil {
		_, err = (&Kept{conn: s.conn}).Purge(ctx, by, audit.Object{Kind: "account", ID: a.ID, Name: a.Name}, at)
	}
	if err == nil {
		_, err = newContent(s.conn, SealedQuota{}).Purge(ctx, by, audit.Object{Kind: "account", ID: a.ID, Name: a.Name},
			s.clock.now().Add(time.Hour), uuid.Nil)
	}
	if err == nil {
		_, err = newAnswers(s.conn, SealedQuota{}).Purge(ctx, by, audit.Object{Kind: "account", ID: a.ID, Name: a.Name},
			s.clock.now().Add(time.Hour))
	}
	return a, err
}

func (s *Accounts) closeAccount(ctx context.Context, tx *sql.Tx, by audit.Actor, before *account.Account,
	at time.Time,
) (a account.Account, err error) {
	gone := facts{}
	for _, step := range []struct {
		what, statement string
		args            []any
	}{
		{"keys", "UPDATE keys SET revoked = ? WHERE account = ? AND revoked IS NULL", []any{micros(at), before.ID}},
		{"members", "DELETE FROM members WHERE account = ?", []any{before.ID}},
		{"invitations", "DELETE FROM invitations WHERE account = ?", []any{before.ID}},
		{"webhooks", "DELETE FROM webhooks WHERE account = ?", []any{before.ID}},
		{"", "DELETE FROM alert_limits WHERE account = ?", []any{before.ID}},
		{"", "UPDATE keys SET label = ?, tags = '{}' WHERE account = ?", []any{account.ClosedName, before.ID}},
		{
			"", forgetObject + forgetFacts + ofAccount + "(object_kind = 'key' OR action = 'account.created')",
			[]any{before.ID},
		},
		{"", forgetObject + ofAccount + "object_kind = 'account'", []any{before.ID}},
	} {
		n, err := affected(tx.ExecContext(ctx, step.statement, step.args...))
		if err != nil {
			return a, err
		}
		if step.what != "" {
			gone[step.what] = n
		}
	}
	row := tx.QueryRowContext(ctx, "UPDATE accounts SET name = ?, suspended = 1, closed = ? WHERE id = ? RETURNING "+
		accountColumns, account.ClosedName+"-"+strings.ReplaceAll(before.ID, "-", ""), micros(at), before.ID)
	if a, err = scanAccount(row); err != nil {
		return a, err
	}
	e := audit.Entry{
		Actor: by, Action: audit.AccountClosed, Account: a.ID,
		Object: audit.Object{Kind: "account", ID: a.ID, Name: a.Name},
	}
	if _, err := s.note(ctx, tx, e, nil, gone); err != nil {
		return a, err
	}
	return a, s.changed(ctx, tx, account.ChangedAccount, a.ID)
}
