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
	"weir/internal/signin"
)

// Admissions admits people by one-time links and by single sign-on, and stores the links that are no invitations.
type Admissions struct {
	*conn
	users    *Users
	members  *Members
	factors  *Factors
	sessions *Sessions
}

// CreateReset adds a link for a new password, or one that signs an operator in.
func (s *Admissions) CreateReset(ctx context.Context, by audit.Actor, r people.NewReset, link people.Hash) error {
	return s.writeInTurn(ctx, "create reset", func(tx *sql.Tx) error {
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
func (s *Admissions) LinkByHash(ctx context.Context, link people.Hash, now time.Time) (l signin.Link, err error) {
	for _, find := range []func(context.Context, people.Hash, time.Time) (signin.Link, error){
		s.inviteLink, s.resetLink, s.setupLink,
	} {
		if l, err = find(ctx, link, now); !errors.Is(err, people.ErrNotFound) {
			break
		}
	}
	if err != nil {
		return signin.Link{}, fmt.Errorf("read link: %w", err)
	}
	return l, nil
}

func (s *Admissions) inviteLink(ctx context.Context, link people.Hash, now time.Time) (signin.Link, error) {
	i, err := scanInvitation(s.read.QueryRowContext(ctx, invitationQuery+"i.hash = ?", micros(now), link.String()))
	if err != nil {
		return signin.Link{}, err
	}
	l, err := loginOf(ctx, s.read, i.Email)
	claims := err == nil && i.trusted && !l.Proven
	known := err == nil && !claims
	if errors.Is(err, people.ErrNotFound) {
		err = nil
	}
	return signin.Link{
		Kind: people.InviteLink, Email: i.Email, Known: known, Claims: claims, Unsaid: !i.trusted,
		Invitation: &i.Invitation, Expires: i.Expires,
	}, err
}

func (s *Admissions) resetLink(ctx context.Context, link people.Hash, now time.Time) (signin.Link, error) {
	l := signin.Link{Kind: people.ResetLink, Known: true}
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

func (s *Admissions) setupLink(ctx context.Context, link people.Hash, now time.Time) (signin.Link, error) {
	var expires int64
	err := s.read.QueryRowContext(ctx, "SELECT expires FROM setup_tokens WHERE "+setupGood,
		link.String(), micros(now)).Scan(&expires)
	return signin.Link{Kind: people.SetupLink, Expires: fromMicros(expires)}, noPerson(err)
}

// UseSetup creates the first operator, who owns the account account.DefaultName.
func (s *Admissions) UseSetup(ctx context.Context, a signin.Admission) error {
	return s.writeInTurn(ctx, "set up", func(tx *sql.Tx) error {
		n, err := affected(tx.ExecContext(ctx, "UPDATE setup_tokens SET used = ? WHERE "+setupGood,
			micros(a.At), a.Link.String(), micros(a.At)))
		if err == nil && n == 0 {
			err = people.ErrNotFound
		}
		if err == nil {
			err = s.users.addUser(ctx, tx, a.By, &a.User, a.Password, true)
		}
		if err == nil {
			err = s.users.setOperator(ctx, tx, a.By, a.User.ID, true)
		}
		if err != nil {
			return err
		}
		id, err := accountNamed(ctx, tx, account.DefaultName)
		if err == nil {
			err = s.members.join(ctx, tx, a.By, id, &a.User, people.Owner, a.At)
		}
		if err != nil && !errors.Is(err, people.ErrNotFound) { // an installation may have another first account
			return err
		}
		return s.sessions.startSession(ctx, tx, a.By, *a.Session)
	})
}

func accountNamed(ctx context.Context, tx *sql.Tx, name string) (id string, err error) {
	err = tx.QueryRowContext(ctx, "SELECT id FROM accounts WHERE name = ?", name).Scan(&id)
	return id, noPerson(err)
}

// UseInvitation creates the user, if necessary, and carries out the invitation.
func (s *Admissions) UseInvitation(ctx context.Context, a signin.Admission) error {
	return s.writeInTurn(ctx, "use invitation", func(tx *sql.Tx) error {
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
		return s.sessions.startSession(ctx, tx, a.By, *a.Session)
	})
}

// letIn creates the user of an admission. If a user with an unproven address exists and an operator made the
// invitation, the new password replaces the old one, so that the person who chose the old one loses access.
func (s *Admissions) letIn(ctx context.Context, tx *sql.Tx, a *signin.Admission, trusted bool) error {
	l, err := loginOf(ctx, tx, a.User.ID)
	switch {
	case errors.Is(err, people.ErrNotFound):
		return s.users.addUser(ctx, tx, a.By, &a.User, a.Password, trusted)
	case err != nil:
		return err
	case l.Proven || !trusted:
		return people.ErrExists
	}
	if err := s.users.prove(ctx, tx, a.By, &l.User); err != nil {
		return err
	}
	return s.factors.setPassword(ctx, tx, a.By, l.ID, a.Password)
}

// takeUp carries out an invitation and marks it as used.
func (s *Admissions) takeUp(ctx context.Context, tx *sql.Tx, by audit.Actor, i *people.Invitation, u *people.User,
	at time.Time,
) error {
	if _, err := tx.ExecContext(ctx, "UPDATE invitations SET used = ? WHERE id = ?", micros(at), i.ID); err != nil {
		return err
	}
	if i.Operator {
		return s.users.setOperator(ctx, tx, by, u.ID, true)
	}
	return s.members.join(ctx, tx, by, i.AccountID, u, i.Role, at)
}

// UseReset changes the password and ends all sessions of the user. The link proves the address, because it was mailed
// there or an operator handed it over. Without a password, it uses a sign-in link and changes nothing else.
func (s *Admissions) UseReset(ctx context.Context, a signin.Admission) error {
	return s.writeInTurn(ctx, "use reset", func(tx *sql.Tx) error {
		var id string
		err := tx.QueryRowContext(
			ctx, "DELETE FROM resets WHERE hash = ? AND who = ? AND sign_in = ? AND expires > ? RETURNING who",
			a.Link.String(), a.User.ID, number(a.Password.IsZero()), micros(a.At)).Scan(&id)
		if err != nil {
			return noPerson(err)
		}
		if a.Password.IsZero() {
			return s.sessions.startSession(ctx, tx, a.By, *a.Session)
		}
		l, err := loginOf(ctx, tx, id)
		if err == nil {
			err = s.users.prove(ctx, tx, a.By, &l.User)
		}
		if err != nil {
			return err
		}
		if err := s.factors.setPassword(ctx, tx, a.By, a.User.ID, a.Password); err != nil {
			return err
		}
		return s.sessions.startSession(ctx, tx, a.By, *a.Session)
	})
}
