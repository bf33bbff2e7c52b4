package store

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"

	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/signin"
)

// Arrive signs in a user who arrives by single sign-on.
func (s *Admissions) Arrive(ctx context.Context, a signin.Arrival) (u people.User, err error) {
	err = s.writeInTurn(ctx, "sign in by single sign-on", func(tx *sql.Tx) error {
		var known bool
		if u, known, err = userByIdentity(ctx, tx, &a); err == nil && !known {
			u, err = s.introduce(ctx, tx, &a)
		}
		if err != nil {
			return err
		}
		if a.Email == u.Email {
			if err := s.takeUpAll(ctx, tx, &a, &u); err != nil {
				return err
			}
		}
		if err := s.grant(ctx, tx, &a, &u); err != nil {
			return err
		}
		n := a.Session
		n.UserID = u.ID
		return s.sessions.startSession(ctx, tx, arriving(&a, &u), n)
	})
	return u, err
}

// arriving returns the arriving user as the actor of the changes.
func arriving(a *signin.Arrival, u *people.User) audit.Actor {
	by := a.By
	by.Kind, by.ID, by.Name = audit.User, u.ID, u.Email
	return by
}

func userByIdentity(ctx context.Context, tx *sql.Tx, a *signin.Arrival) (people.User, bool, error) {
	l, err := scanLogin(tx.QueryRowContext(ctx, "SELECT "+userColumns+
		" FROM identities i JOIN users u ON u.id = i.who WHERE i.issuer = ? AND i.subject = ?", a.Issuer, a.Subject))
	if errors.Is(err, people.ErrNotFound) {
		return people.User{}, false, nil
	}
	return l.User, err == nil, err
}

// introduce finds the user with the verified address, or creates one. It stores the provider's subject for that user:
// later sign-ins are identified by it and no longer by the address.
func (s *Admissions) introduce(ctx context.Context, tx *sql.Tx, a *signin.Arrival) (people.User, error) {
	if a.Email == "" {
		return people.User{}, people.ErrNotFound
	}
	l, err := loginOf(ctx, tx, a.Email)
	switch {
	case err == nil:
		err = s.meet(ctx, tx, a, &l.User)
	case errors.Is(err, people.ErrNotFound):
		l.User, err = s.welcome(ctx, tx, a)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, "INSERT INTO identities (issuer, subject, who, created) VALUES (?, ?, ?, ?)",
			a.Issuer, a.Subject, l.ID, micros(a.Session.Created))
	}
	return l.User, err
}

// meet checks whether the identity may belong to an existing user. If nobody has proven before that the address is
// theirs, somebody else may have registered it: then the password and the sessions of the user are removed.
func (s *Admissions) meet(ctx context.Context, tx *sql.Tx, a *signin.Arrival, u *people.User) error {
	var others int64
	err := tx.QueryRowContext(ctx, "SELECT count(*) FROM identities WHERE issuer = ? AND who = ?", a.Issuer, u.ID).Scan(
		&others)
	if err == nil && others > 0 {
		err = people.ErrTaken
	}
	if err != nil || u.Proven {
		return err
	}
	return s.users.prove(ctx, tx, arriving(a, u), u)
}

// welcome creates a user if sign-up is allowed or the address has an invitation.
func (s *Admissions) welcome(ctx context.Context, tx *sql.Tx, a *signin.Arrival) (people.User, error) {
	u := people.User{ID: a.NewID, Email: a.Email, Name: a.Name, Created: a.Session.Created}
	if !a.SignUp {
		var invited int64
		err := tx.QueryRowContext(ctx, "SELECT count(*)"+openInvitations+"i.email = ?", micros(a.Session.Created),
			a.Email).Scan(&invited)
		if err != nil {
			return u, err
		}
		if invited == 0 {
			return u, people.ErrNotFound
		}
	}
	return u, s.users.addUser(ctx, tx, arriving(a, &u), &u, llm.Secret{}, true)
}

// takeUpAll accepts all invitations of a verified address.
func (s *Admissions) takeUpAll(ctx context.Context, tx *sql.Tx, a *signin.Arrival, u *people.User) error {
	rows, err := tx.QueryContext(ctx, invitationQuery+"i.email = ? ORDER BY i.id", micros(a.Session.Created), u.Email)
	list, err := collect(rows, err, scanInvitation)
	for i := range list {
		if err == nil {
			err = s.takeUp(ctx, tx, arriving(a, u), &list[i].Invitation, u, a.Session.Created)
		}
	}
	return err
}

// grant sets the roles that follow from the user's groups. The last operator, and the last owner of an account, keep
// their roles, so that somebody can correct a mistake in the groups.
func (s *Admissions) grant(ctx context.Context, tx *sql.Tx, a *signin.Arrival, u *people.User) error {
	by := arriving(a, u)
	if on := a.Grants.Operator; on != nil {
		err := s.users.setOperator(ctx, tx, by, u.ID, *on)
		if errors.Is(err, people.ErrLast) {
			s.log.Warn("single sign-on would remove the last operator; the user remains operator", "user", u.Email)
			err = nil
		}
		if err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Grants.Roles)) {
		if err := s.grantRole(ctx, tx, a, u, name); err != nil {
			return err
		}
	}
	return nil
}

func (s *Admissions) grantRole(ctx context.Context, tx *sql.Tx, a *signin.Arrival, u *people.User, name string) error {
	role := a.Grants.Roles[name]
	id, err := accountNamed(ctx, tx, name)
	if errors.Is(err, people.ErrNotFound) {
		s.log.Warn("the configuration grants roles in an account that does not exist", "account", name)
		return nil
	}
	if err != nil {
		return err
	}
	m, err := memberOf(ctx, tx, id, u.ID)
	switch {
	case err == nil:
		err = s.members.setRole(ctx, tx, arriving(a, u), &m, role)
	case errors.Is(err, people.ErrNotFound) && role != "":
		err = s.members.join(ctx, tx, arriving(a, u), id, u, role, a.Session.Created)
	case errors.Is(err, people.ErrNotFound):
		err = nil
	}
	if errors.Is(err, people.ErrLast) {
		s.log.Warn("single sign-on would remove the last owner of an account; the user remains owner", "user", u.Email,
			"account", name)
		err = nil
	}
	return err
}
