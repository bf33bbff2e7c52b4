package store

import (
	"context"
	"database/sql"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/people"
)

// SetDisabled disables a user, or enables them again.
func (s *Users) SetDisabled(ctx context.Context, by audit.Actor, userID string, disabled bool) error {
	return s.writeInTurn(ctx, "change access of user", func(tx *sql.Tx) error {
		l, err := s.subject(ctx, tx, by, userID)
		if err != nil || (l.Disabled != nil) == disabled {
			return err
		}
		if !disabled {
			_, err := tx.ExecContext(ctx, "UPDATE users SET disabled = NULL WHERE id = ?", l.ID)
			if err != nil {
				return err
			}
			return s.record(ctx, tx, audit.Entry{Actor: by, Action: audit.UserEnabled, Object: userObject(&l.User)})
		}
		_, err = tx.ExecContext(ctx, "UPDATE users SET disabled = ? WHERE id = ?", micros(s.clock.now()), l.ID)
		if err == nil {
			err = s.shutOut(ctx, tx, by, &l)
		}
		if err != nil {
			return err
		}
		return s.record(ctx, tx, audit.Entry{Actor: by, Action: audit.UserDisabled, Object: userObject(&l.User)})
	})
}

// subject returns the user whom an operator wants to change. It returns people.ErrOperator if the user is an
// operator.
func (s *Users) subject(ctx context.Context, tx *sql.Tx, by audit.Actor, userID string) (people.Login, error) {
	if err := mayOperate(ctx, tx, by, s.clock.now()); err != nil {
		return people.Login{}, err
	}
	l, err := loginOf(ctx, tx, userID)
	if err == nil && l.Operator {
		err = people.ErrOperator
	}
	return l, err
}

// shutOut ends a user's sessions and revokes the keys that act for the user. It also deletes everything that could
// start a session: reset links, and invitations that the user made.
func (s *Users) shutOut(ctx context.Context, tx *sql.Tx, by audit.Actor, l *people.Login) error {
	for _, statement := range []string{"DELETE FROM sessions WHERE who = ?", "DELETE FROM resets WHERE who = ?"} {
		if _, err := tx.ExecContext(ctx, statement, l.ID); err != nil {
			return err
		}
	}
	if err := s.accounts.revokeMade(ctx, tx, by, l.ID, (*account.Key).IsPersonal); err != nil {
		return err
	}
	return s.withdraw(ctx, tx, by, l.ID, "")
}

// RemoveUser deletes a user and all data about them.
func (s *Users) RemoveUser(ctx context.Context, by audit.Actor, userID string) error {
	return s.writeInTurn(ctx, "remove user", func(tx *sql.Tx) error {
		l, err := s.subject(ctx, tx, by, userID)
		if err != nil {
			return err
		}
		in, err := membershipsOf(ctx, tx, l.ID)
		for i := range in {
			if err == nil {
				err = s.members.setRole(ctx, tx, by, &in[i], "")
			}
		}
		if err == nil {
			err = s.shutOut(ctx, tx, by, &l)
		}
		if err != nil {
			return err
		}
		for _, statement := range []string{
			"DELETE FROM identities WHERE who = ?", "DELETE FROM recovery_codes WHERE who = ?",
			"DELETE FROM passkeys WHERE who = ?", "DELETE FROM oauth_grants WHERE who = ?",
			"DELETE FROM mcp_connections WHERE who = ?",
			"DELETE FROM invitations WHERE email = (SELECT email FROM users WHERE id = ?)",
			"DELETE FROM users WHERE id = ?",
		} {
			if _, err := tx.ExecContext(ctx, statement, l.ID); err != nil {
				return err
			}
		}
		if err := s.forget(ctx, tx, &l.User); err != nil {
			return err
		}
		return s.record(ctx, tx, audit.Entry{
			Actor: by, Action: audit.UserRemoved, Object: audit.Object{Kind: "user", ID: l.ID},
		})
	})
}
