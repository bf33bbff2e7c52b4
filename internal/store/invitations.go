package store

import (
	"context"
	"database/sql"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/people"
)

// Invitations stores the invitations to accounts and of operators.
type Invitations struct {
	*conn
	accounts *Accounts
}

const (
	// goodUntil is the end of an invitation: if a key made it, it ends with the key at the latest.
	goodUntil = "CASE WHEN k.revoked IS NOT NULL THEN 0 WHEN k.expires < i.expires THEN k.expires ELSE i.expires END"
	// openInvitations selects the unused invitations that are valid at a time.
	openInvitations = " FROM invitations i LEFT JOIN keys k ON k.id = i.inviter_id LEFT JOIN accounts a ON a.id = " +
		"i.account" +
		" WHERE i.used IS NULL AND " + goodUntil + " > ? AND "
	invitationQuery = "SELECT i.id, i.email, i.account, coalesce(a.name, ''), i.role, i.operator, i.inviter, " +
		"i.created, " + goodUntil + ", i.trusted" + openInvitations
)

// invitationRow is an invitation, and whether an operator made it.
type invitationRow struct {
	people.Invitation
	trusted bool
}

func scanInvitation(row scanner) (i invitationRow, err error) {
	var created, expires int64
	err = row.Scan(&i.ID, &i.Email, &i.AccountID, &i.AccountName, &i.Role, &i.Operator, &i.By, &created, &expires,
		&i.trusted)
	i.Created, i.Expires = fromMicros(created), fromMicros(expires)
	return i, noPerson(err)
}

// Invite adds an invitation. It replaces an earlier one of the same person to the same account.
func (s *Invitations) Invite(ctx context.Context, by audit.Actor, i people.Invitation, link people.Hash) (
	people.Invitation, error,
) {
	n := people.NewInvitation{Invitation: i, Link: link}
	err := s.writeInTurn(ctx, "invite", func(tx *sql.Tx) error {
		return s.invite(ctx, tx, by, &n)
	})
	return n.Invitation, err
}

// CreateAccount creates an account with its credit and with invitations to it, in one transaction.
func (s *Invitations) CreateAccount(ctx context.Context, by audit.Actor, d account.Draft,
	invited []people.NewInvitation,
) (a account.Account, err error) {
	err = s.writeInTurn(ctx, "create account", func(tx *sql.Tx) error {
		if err := s.accounts.createAccount(ctx, tx, by, &d.Account); err != nil {
			return err
		}
		a = d.Account
		if d.Credit != nil {
			if a, err = s.accounts.addCredit(ctx, tx, by, d.Credit); err != nil {
				return err
			}
		}
		for i := range invited {
			if err := s.invite(ctx, tx, by, &invited[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return a, err
}

func (s *Invitations) invite(ctx context.Context, tx *sql.Tx, by audit.Actor, i *people.NewInvitation) error {
	if err := inviteWhere(ctx, tx, &i.Invitation); err != nil {
		return err
	}
	trusted, err := isTrusted(ctx, tx, by, s.clock.now())
	allowed := trusted
	if err == nil && !trusted && !i.Operator {
		allowed, err = owns(ctx, tx, by, i.AccountID)
	}
	if err != nil {
		return err
	}
	if !allowed {
		return audit.ErrNotAllowed
	}
	_, err = tx.ExecContext(
		ctx, "DELETE FROM invitations WHERE used IS NULL AND email = ? AND account = ? AND operator = ?", i.Email,
		i.AccountID, number(i.Operator))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO invitations (id, hash, email, account, role, operator, inviter, "+
		"inviter_id, trusted, created, expires) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		i.ID, i.Link.String(), i.Email, i.AccountID, string(i.Role), number(i.Operator), i.By, by.ID,
		number(trusted && !i.Untrusted), micros(i.Created), micros(i.Expires))
	if err != nil {
		return err
	}
	e := audit.Entry{
		Actor: by, Action: audit.OperatorInvited, Object: invitationObject(&i.Invitation), Account: i.AccountID,
	}
	if i.Operator {
		return s.record(ctx, tx, e)
	}
	e.Action = audit.MemberInvited
	return s.tell(ctx, tx, e, nil, facts{"role": i.Role})
}

func invitationObject(i *people.Invitation) audit.Object {
	return audit.Object{Kind: "invitation", ID: i.ID, Name: i.Email}
}

// inviteWhere reads the name of the account. It returns people.ErrExists if the person is already a member.
func inviteWhere(ctx context.Context, tx *sql.Tx, i *people.Invitation) error {
	there := "SELECT count(*) FROM users WHERE email = ? AND operator = 1"
	args := []any{i.Email}
	if !i.Operator {
		var closed bool
		err := tx.QueryRowContext(ctx, "SELECT name, closed IS NOT NULL FROM accounts WHERE id = ?", i.AccountID).
			Scan(&i.AccountName, &closed)
		if err == nil && closed {
			err = account.Closed()
		}
		if err != nil {
			return noPerson(err)
		}
		there, args = "SELECT count(*) FROM members m JOIN users u ON u.id = m.who WHERE u.email = ? AND m.account = ?",
			append(args, i.AccountID)
	}
	var n int64
	if err := tx.QueryRowContext(ctx, there, args...).Scan(&n); err != nil {
		return err
	}
	if n > 0 {
		return people.ErrExists
	}
	return nil
}

// Invitations returns the unused invitations to an account, newest first.
func (s *Invitations) Invitations(ctx context.Context, accountID string, now time.Time) ([]people.Invitation, error) {
	return reportList(ctx, s.conn, accountID, "read invitations", func(row scanner) (people.Invitation, error) {
		i, err := scanInvitation(row)
		return i.Invitation, err
	}, invitationQuery+"i.account = ? ORDER BY i.created DESC, i.id DESC", micros(now), accountID)
}

// CancelInvitation deletes an invitation; or people.ErrNotFound.
func (s *Invitations) CancelInvitation(ctx context.Context, by audit.Actor, accountID, id string) error {
	return s.writeInTurn(ctx, "cancel invitation", func(tx *sql.Tx) error {
		i := people.Invitation{ID: id}
		err := tx.QueryRowContext(
			ctx, "DELETE FROM invitations WHERE id = ? AND account = ? AND used IS NULL RETURNING email", id,
			accountID).Scan(&i.Email)
		if err != nil {
			return noPerson(err)
		}
		return s.record(ctx, tx, audit.Entry{
			Actor: by, Action: audit.InvitationCancelled, Object: invitationObject(&i), Account: accountID,
		})
	})
}

// withdraw deletes the open invitations of a user or a key that has lost the right to invite: to one account, or to
// all if it is empty. Otherwise a link that they made before would let them in again.
func (s *conn) withdraw(ctx context.Context, tx *sql.Tx, by audit.Actor, inviterID, accountID string) error {
	rows, err := tx.QueryContext(
		ctx, "DELETE FROM invitations WHERE used IS NULL AND inviter_id = ? AND (? = '' OR account = ?) RETURNING "+
			"id, email, account", inviterID, accountID, accountID)
	list, err := collect(rows, err, func(row scanner) (i people.Invitation, err error) {
		err = row.Scan(&i.ID, &i.Email, &i.AccountID)
		return i, err
	})
	for k := range list {
		if err == nil {
			i := &list[k]
			err = s.record(ctx, tx, audit.Entry{Actor: by, Action: audit.InvitationCancelled, Object: invitationObject(
				i), Account: i.AccountID})
		}
	}
	return err
}
