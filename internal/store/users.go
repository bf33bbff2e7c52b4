package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/people"
)

// Users stores the people who sign in, and which of them are operators.
type Users struct {
	*conn
	accounts *Accounts
	webhooks *Webhooks
	members  *Members
}

func userObject(u *people.User) audit.Object {
	return audit.Object{Kind: "user", ID: u.ID, Name: u.Email}
}

const userColumns = "u.id, u.email, u.name, u.operator, u.password, u.proven, u.created, u.seen, " +
	"u.disabled, u.totp, u.totp_step"

// userRow is a scanned row of userColumns, with its encoded columns not decoded yet.
type userRow struct {
	people.User
	hash, totp     string
	created, step  int64
	seen, disabled sql.NullInt64
}

func (r *userRow) dest() []any {
	return []any{
		&r.ID, &r.Email, &r.Name, &r.Operator, &r.hash, &r.Proven, &r.created, &r.seen, &r.disabled,
		&r.totp, &r.step,
	}
}

func (r *userRow) login() people.Login {
	l := people.Login{User: r.User, Hash: llm.NewSecret(r.hash), Factor: people.Factor{Secret: r.totp, Step: r.step}}
	l.SecondFactor, l.Disabled = r.totp != "", optionalTime(r.disabled)
	l.Password, l.Created, l.Seen = r.hash != "", fromMicros(r.created), optionalTime(r.seen)
	return l
}

func scanLogin(row scanner) (people.Login, error) {
	var r userRow
	if err := row.Scan(r.dest()...); err != nil {
		return people.Login{}, noPerson(err)
	}
	return r.login(), nil
}

// noPerson converts sql.ErrNoRows to people.ErrNotFound.
func noPerson(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return people.ErrNotFound
	}
	return err
}

// HasOperator reports whether there is any operator.
func (s *Users) HasOperator(ctx context.Context) (has bool, err error) {
	err = s.read.QueryRowContext(ctx, "SELECT count(*) > 0 FROM users WHERE operator = 1").Scan(&has)
	if err != nil {
		return false, fmt.Errorf("read users: %w", err)
	}
	return has, nil
}

// Login returns the user with that id or e-mail; or people.ErrNotFound.
func (s *Users) Login(ctx context.Context, idOrEmail string) (people.Login, error) {
	l, err := loginOf(ctx, s.read, idOrEmail)
	if err != nil {
		return l, fmt.Errorf("read user: %w", err)
	}
	return l, nil
}

func loginOf(ctx context.Context, q querier, idOrEmail string) (people.Login, error) {
	return scanLogin(q.QueryRowContext(ctx, "SELECT "+userColumns+" FROM users u WHERE u.id = ? OR u.email = ?",
		idOrEmail, idOrEmail))
}

// Users returns all users, by e-mail.
func (s *Users) Users(ctx context.Context) ([]people.User, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT "+userColumns+" FROM users u ORDER BY u.email")
	return listed("read users", rows, err, func(row scanner) (people.User, error) {
		l, err := scanLogin(row)
		return l.User, err
	})
}

// RenameUser changes the name of a user; or people.ErrNotFound.
func (s *Users) RenameUser(ctx context.Context, by audit.Actor, id, name string) error {
	return s.writeInTurn(ctx, "rename user", func(tx *sql.Tx) error {
		l, err := loginOf(ctx, tx, id)
		if err != nil || l.Name == name {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE users SET name = ? WHERE id = ?", name, l.ID); err != nil {
			return err
		}
		e := audit.Entry{Actor: by, Action: audit.UserChanged, Object: userObject(&l.User)}
		return s.tell(ctx, tx, e, facts{"name": l.Name}, facts{"name": name})
	})
}

// affected returns how many rows a statement changed.
func affected(result sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// SetOperator makes a user an operator, or removes the role. The actor must be an operator when it is written.
func (s *Users) SetOperator(ctx context.Context, by audit.Actor, userID string, on bool) error {
	return s.writeInTurn(ctx, "change operator", func(tx *sql.Tx) error {
		if err := mayOperate(ctx, tx, by, s.clock.now()); err != nil {
			return err
		}
		return s.setOperator(ctx, tx, by, userID, on)
	})
}

func (s *Users) setOperator(ctx context.Context, tx *sql.Tx, by audit.Actor, userID string, on bool) error {
	l, err := loginOf(ctx, tx, userID)
	if err != nil || l.Operator == on {
		return err
	}
	var others int64
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM users WHERE operator = 1 AND id <> ?", l.ID).Scan(
		&others); err != nil {
		return err
	}
	switch {
	case !on && others == 0:
		return people.ErrLast
	case on && !l.Proven:
		return people.ErrUnproven
	case on && l.Disabled != nil:
		return people.ErrDisabled
	}
	if _, err := tx.ExecContext(ctx, "UPDATE users SET operator = ? WHERE id = ?", number(on), l.ID); err != nil {
		return err
	}
	action := audit.OperatorAdded
	if !on {
		action = audit.OperatorRemoved
		if err := s.revokeAccess(ctx, tx, by, l.ID); err != nil {
			return err
		}
	}
	return s.record(ctx, tx, audit.Entry{Actor: by, Action: action, Object: userObject(&l.User)})
}

// revokeAccess removes everything that would let a former operator regain access or learn of changes: their open
// invitations, all reset links that were handed over by hand, their keys that administer the installation, and their
// webhook endpoints.
func (s *Users) revokeAccess(ctx context.Context, tx *sql.Tx, by audit.Actor, userID string) error {
	if err := s.withdraw(ctx, tx, by, userID, ""); err != nil {
		return err
	}
	// Only operators can hand over such links. They have no record of their creator, and new ones are easily made.
	if _, err := tx.ExecContext(ctx, "DELETE FROM resets WHERE mailed = 0"); err != nil {
		return err
	}
	if err := s.webhooks.stopWebhooks(ctx, tx, by, userID); err != nil {
		return err
	}
	return s.accounts.revokeMade(ctx, tx, by, userID, func(k *account.Key) bool {
		return slices.Contains(k.Permissions, account.Admin) || k.IsPlayground()
	})
}

// prove records that a user's address is proven. Somebody else may have used this account before, so everything that
// they set up is removed: it must neither grant them access nor lock out the owner of the address.
func (s *Users) prove(ctx context.Context, tx *sql.Tx, by audit.Actor, u *people.User) error {
	if u.Proven {
		return nil
	}
	for _, statement := range []string{
		"UPDATE users SET proven = 1, password = '', totp = '', totp_step = 0 WHERE id = ?",
		"DELETE FROM recovery_codes WHERE who = ?", "DELETE FROM passkeys WHERE who = ?",
		"DELETE FROM identities WHERE who = ?", "DELETE FROM sessions WHERE who = ?",
		"DELETE FROM resets WHERE who = ?", "DELETE FROM mcp_connections WHERE who = ?",
	} {
		if _, err := tx.ExecContext(ctx, statement, u.ID); err != nil {
			return err
		}
	}
	if err := s.withdraw(ctx, tx, by, u.ID, ""); err != nil {
		return err
	}
	isProgram := func(k *account.Key) bool { return k.Client != "" }
	if err := s.accounts.revokeMade(ctx, tx, by, u.ID, isProgram); err != nil {
		return err
	}
	if u.SecondFactor {
		err := s.record(ctx, tx, audit.Entry{Actor: by, Action: audit.FactorRemoved, Object: userObject(u)})
		if err != nil {
			return err
		}
	}
	u.Proven, u.Password, u.SecondFactor = true, false, false
	e := audit.Entry{Actor: by, Action: audit.UserChanged, Object: userObject(u)}
	return s.tell(ctx, tx, e, facts{"email_proven": false}, facts{"email_proven": true})
}

// addUser adds a user; people.ErrExists if the address is in use.
func (s *Users) addUser(ctx context.Context, tx *sql.Tx, by audit.Actor, u *people.User, hash llm.Secret,
	proven bool,
) error {
	_, err := loginOf(ctx, tx, u.Email)
	if err == nil {
		return people.ErrExists
	}
	if !errors.Is(err, people.ErrNotFound) {
		return err
	}
	_, err = tx.ExecContext(
		ctx, "INSERT INTO users (id, email, name, operator, password, proven, created) VALUES (?, ?, ?, 0, ?, ?, ?)",
		u.ID, u.Email, u.Name, hash.Reveal(), number(proven), micros(u.Created))
	if err != nil {
		return err
	}
	u.Proven = proven
	e := audit.Entry{Actor: by, Action: audit.UserCreated, Object: userObject(u)}
	return s.tell(ctx, tx, e, nil, facts{"email": u.Email, "name": u.Name, "password": !hash.IsZero()})
}
