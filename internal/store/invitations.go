package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/people"
)

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
func (s *People) Invite(ctx context.Context, by audit.Actor, i people.Invitation, link people.Hash) (people.Invitation,
	error,
) {
	n := people.NewInvitation{Invitation: i, Link: link}
	err := s.changePeople(ctx, "invite", func(tx *sql.Tx) error {
		return s.invite(ctx, tx, by, &n)
	})
	return n.Invitation, err
}

// CreateAccount creates an account with its credit and with invitations to it, in one transaction.
func (s *People) CreateAccount(ctx context.Context, by audit.Actor, d account.Draft, invited []people.NewInvitation) (
	a account.Account, err error,
) {
	err = s.changePeople(ctx, "create account", func(tx *sql.Tx) error {
		if err := s.createAccount(ctx, tx, by, &d.Account); err != nil {
			return err
		}
		a = d.Account
		if d.Credit != nil {
			if a, err = s.addCredit(ctx, tx, by, d.Credit); err != nil {
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

func (s *People) invite(ctx context.Context, tx *sql.Tx, by audit.Actor, i *people.NewInvitation) error {
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
func (s *People) Invitations(ctx context.Context, accountID string, now time.Time) ([]people.Invitation, error) {
	return reportList(ctx, s.conn, accountID, "read invitations", func(row scanner) (people.Invitation, error) {
		i, err := scanInvitation(row)
		return i.Invitation, err
	}, invitationQuery+"i.account = ? ORDER BY i.created DESC, i.id DESC", micros(now), accountID)
}

// CancelInvitation deletes an invitation; or people.ErrNotFound.
func (s *People) CancelInvitation(ctx context.Context, by audit.Actor, accountID, id string) error {
	return s.changePeople(ctx, "cancel invitation", func(tx *sql.Tx) error {
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

// CreateReset adds a link for a new password, or one that signs an operator in.
func (s *People) CreateReset(ctx context.Context, by audit.Actor, r people.NewReset, link people.Hash) error {
	return s.changePeople(ctx, "create reset", func(tx *sql.Tx) error {
		l, err := loginOf(ctx, tx, r.UserID)
		if err == nil && r.SignIn && !l.Operator {
			err = people.ErrNoOperator
		}
		if err == nil && !r.Mailed {
			err = mayOperate(ctx, tx, by, s.clock.now())
		}
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM resets WHERE expires <= ?", micros(r.Created)); err != nil {
			return err
		}
		_, err = tx.ExecContext(
			ctx, "INSERT INTO resets (hash, who, mailed, sign_in, created, expires) VALUES (?, ?, ?, ?, ?, ?)",
			link.String(), l.ID, number(r.Mailed), number(r.SignIn), micros(r.Created), micros(r.Expires))
		if err != nil {
			return err
		}
		e := audit.Entry{Actor: by, Action: audit.PasswordForgot, Object: userObject(&l.User)}
		if r.SignIn {
			e.Action = audit.SignInLinkCreated
			return s.record(ctx, tx, e)
		}
		return s.tell(ctx, tx, e, nil, facts{"mailed": r.Mailed})
	})
}

// LinkByHash returns a valid link; or people.ErrNotFound.
func (s *People) LinkByHash(ctx context.Context, link people.Hash, now time.Time) (l people.Link, err error) {
	for _, find := range []func(context.Context, people.Hash, time.Time) (people.Link, error){
		s.inviteLink, s.resetLink, s.setupLink,
	} {
		if l, err = find(ctx, link, now); !errors.Is(err, people.ErrNotFound) {
			break
		}
	}
	if err != nil {
		return people.Link{}, fmt.Errorf("read link: %w", err)
	}
	return l, nil
}

func (s *People) inviteLink(ctx context.Context, link people.Hash, now time.Time) (people.Link, error) {
	i, err := scanInvitation(s.read.QueryRowContext(ctx, invitationQuery+"i.hash = ?", micros(now), link.String()))
	if err != nil {
		return people.Link{}, err
	}
	l, err := loginOf(ctx, s.read, i.Email)
	claims := err == nil && i.trusted && !l.Proven
	known := err == nil && !claims
	if errors.Is(err, people.ErrNotFound) {
		err = nil
	}
	return people.Link{
		Kind: people.InviteLink, Email: i.Email, Known: known, Claims: claims, Unsaid: !i.trusted,
		Invitation: &i.Invitation, Expires: i.Expires,
	}, err
}

func (s *People) resetLink(ctx context.Context, link people.Hash, now time.Time) (people.Link, error) {
	l := people.Link{Kind: people.ResetLink, Known: true}
	var expires int64
	var signIn bool
	err := s.read.QueryRowContext(
		ctx, "SELECT u.email, r.expires, r.sign_in = 1 FROM resets r JOIN users u ON u.id = r.who WHERE r.hash = ? "+
			"AND r.expires > ?", link.String(), micros(now)).Scan(&l.Email, &expires, &signIn)
	if signIn {
		l.Kind = people.SignInLink
	}
	l.Expires = fromMicros(expires)
	return l, noPerson(err)
}

// setupGood is the condition that a setup link is valid. Once there is an operator, none is, because links may be in
// a log.
const setupGood = "hash = ? AND used IS NULL AND expires > ? AND NOT EXISTS (SELECT 1 FROM users WHERE operator = 1)"

func (s *People) setupLink(ctx context.Context, link people.Hash, now time.Time) (people.Link, error) {
	var expires int64
	err := s.read.QueryRowContext(ctx, "SELECT expires FROM setup_tokens WHERE "+setupGood,
		link.String(), micros(now)).Scan(&expires)
	return people.Link{Kind: people.SetupLink, Expires: fromMicros(expires)}, noPerson(err)
}

// UseSetup creates the first operator, who owns the account account.DefaultName.
func (s *People) UseSetup(ctx context.Context, a people.Admission) error {
	return s.changePeople(ctx, "set up", func(tx *sql.Tx) error {
		n, err := affected(tx.ExecContext(ctx, "UPDATE setup_tokens SET used = ? WHERE "+setupGood,
			micros(a.At), a.Link.String(), micros(a.At)))
		if err == nil && n == 0 {
			err = people.ErrNotFound
		}
		if err == nil {
			err = s.addUser(ctx, tx, a.By, &a.User, a.Password, true)
		}
		if err == nil {
			err = s.setOperator(ctx, tx, a.By, a.User.ID, true)
		}
		if err != nil {
			return err
		}
		id, err := accountNamed(ctx, tx, account.DefaultName)
		if err == nil {
			err = s.join(ctx, tx, a.By, id, &a.User, people.Owner, a.At)
		}
		if err != nil && !errors.Is(err, people.ErrNotFound) { // an installation may have another first account
			return err
		}
		return s.startSession(ctx, tx, a.By, *a.Session)
	})
}

func accountNamed(ctx context.Context, tx *sql.Tx, name string) (id string, err error) {
	err = tx.QueryRowContext(ctx, "SELECT id FROM accounts WHERE name = ?", name).Scan(&id)
	return id, noPerson(err)
}

// UseInvitation creates the user, if necessary, and carries out the invitation.
func (s *People) UseInvitation(ctx context.Context, a people.Admission) error {
	return s.changePeople(ctx, "use invitation", func(tx *sql.Tx) error {
		i, err := scanInvitation(tx.QueryRowContext(ctx, invitationQuery+"i.hash = ?", micros(a.At), a.Link.String()))
		if err != nil {
			return err
		}
		if !a.Password.IsZero() {
			if err := s.letIn(ctx, tx, &a, i.trusted); err != nil {
				return err
			}
		}
		if err := s.takeUp(ctx, tx, a.By, &i.Invitation, &a.User, a.At); err != nil {
			return err
		}
		return s.startSession(ctx, tx, a.By, *a.Session)
	})
}

// letIn creates the user of an admission. If a user with an unproven address exists and an operator made the
// invitation, the new password replaces the old one, so that the person who chose the old one loses access.
func (s *People) letIn(ctx context.Context, tx *sql.Tx, a *people.Admission, trusted bool) error {
	l, err := loginOf(ctx, tx, a.User.ID)
	switch {
	case errors.Is(err, people.ErrNotFound):
		return s.addUser(ctx, tx, a.By, &a.User, a.Password, trusted)
	case err != nil:
		return err
	case l.Proven || !trusted:
		return people.ErrExists
	}
	if err := s.prove(ctx, tx, a.By, &l.User); err != nil {
		return err
	}
	return s.setPassword(ctx, tx, a.By, l.ID, a.Password)
}

// takeUp carries out an invitation and marks it as used.
func (s *People) takeUp(ctx context.Context, tx *sql.Tx, by audit.Actor, i *people.Invitation, u *people.User,
	at time.Time,
) error {
	if _, err := tx.ExecContext(ctx, "UPDATE invitations SET used = ? WHERE id = ?", micros(at), i.ID); err != nil {
		return err
	}
	if i.Operator {
		return s.setOperator(ctx, tx, by, u.ID, true)
	}
	return s.join(ctx, tx, by, i.AccountID, u, i.Role, at)
}

// UseReset changes the password and ends all sessions of the user. The link proves the address, because it was mailed
// there or an operator handed it over. Without a password, it uses a sign-in link and changes nothing else.
func (s *People) UseReset(ctx context.Context, a people.Admission) error {
	return s.changePeople(ctx, "use reset", func(tx *sql.Tx) error {
		var id string
		err := tx.QueryRowContext(
			ctx, "DELETE FROM resets WHERE hash = ? AND who = ? AND sign_in = ? AND expires > ? RETURNING who",
			a.Link.String(), a.User.ID, number(a.Password.IsZero()), micros(a.At)).Scan(&id)
		if err != nil {
			return noPerson(err)
		}
		if a.Password.IsZero() {
			return s.startSession(ctx, tx, a.By, *a.Session)
		}
		l, err := loginOf(ctx, tx, id)
		if err == nil {
			err = s.prove(ctx, tx, a.By, &l.User)
		}
		if err != nil {
			return err
		}
		if err := s.setPassword(ctx, tx, a.By, a.User.ID, a.Password); err != nil {
			return err
		}
		return s.startSession(ctx, tx, a.By, *a.Session)
	})
}
