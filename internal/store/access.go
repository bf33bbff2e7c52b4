package store

import (
	"context"
	"database/sql"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/people"
)

// SetDisabled disables a user, or enables them again.
func (s *People) SetDisabled(ctx context.Context, by audit.Actor, userID string, disabled bool) error {
	return s.changePeople(ctx, "change access of user", func(tx *sql.Tx) error {
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
func (s *People) subject(ctx context.Context, tx *sql.Tx, by audit.Actor, userID string) (people.Login, error) {
	if err := mayOperate(ctx, tx, by, s.clock.now()); err != nil {
		return people.Login{}, err
	}
	l, err := loginOf(ctx, tx, userID)
	if err == nil && l.Operator {
		err = people.ErrOperator
	}
	return l, err
}

// shutOut ends a user's sessions and revokes the keys of their playgrounds. It also deletes everything that could
// start a session: reset links, and invitations that the user made.
func (s *People) shutOut(ctx context.Context, tx *sql.Tx, by audit.Actor, l *people.Login) error {
	for _, statement := range []string{"DELETE FROM sessions WHERE who = ?", "DELETE FROM resets WHERE who = ?"} {
		if _, err := tx.ExecContext(ctx, statement, l.ID); err != nil {
			return err
		}
	}
	if err := s.accounts.revokeMade(ctx, tx, by, l.ID, (*account.Key).IsPlayground); err != nil {
		return err
	}
	return s.withdraw(ctx, tx, by, l.ID, "")
}

// RemoveUser deletes a user and all data about them.
func (s *People) RemoveUser(ctx context.Context, by audit.Actor, userID string) error {
	return s.changePeople(ctx, "remove user", func(tx *sql.Tx) error {
		l, err := s.subject(ctx, tx, by, userID)
		if err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, memberQuery+"m.who = ? ORDER BY a.name", l.ID)
		in, err := collect(rows, err, scanMember)
		for i := range in {
			if err == nil {
				err = s.setRole(ctx, tx, by, &in[i], "")
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
			"DELETE FROM passkeys WHERE who = ?",
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

// SetFactor sets or removes a user's second factor, and ends all their sessions except keep.
func (s *People) SetFactor(ctx context.Context, by audit.Actor, userID string, f people.Factor, keep string) error {
	return s.changePeople(ctx, "set second factor", func(tx *sql.Tx) error {
		l, err := loginOf(ctx, tx, userID)
		switch {
		case err != nil:
		case by.ID != l.ID: // another user's factor: only an operator may change it
			err = mayOperate(ctx, tx, by, s.clock.now())
		case keep != "":
			err = stillIn(ctx, tx, keep, l.ID)
		}
		if err != nil || f.Secret == "" && !l.SecondFactor {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE users SET totp = ?, totp_step = ? WHERE id = ?", f.Secret, f.Step, l.ID)
		if err == nil {
			_, err = tx.ExecContext(ctx, "DELETE FROM recovery_codes WHERE who = ?", l.ID)
		}
		if err == nil && f.Secret == "" {
			_, err = tx.ExecContext(ctx, "DELETE FROM passkeys WHERE who = ?", l.ID)
		}
		for _, code := range f.Recovery {
			if err == nil {
				_, err = tx.ExecContext(ctx, "INSERT INTO recovery_codes (who, hash) VALUES (?, ?)",
					l.ID, code.String())
			}
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, "DELETE FROM sessions WHERE who = ? AND id <> ?", l.ID, keep)
		}
		if err != nil {
			return err
		}
		action := audit.FactorSet
		if f.Secret == "" {
			action = audit.FactorRemoved
		}
		return s.record(ctx, tx, audit.Entry{Actor: by, Action: action, Object: userObject(&l.User)})
	})
}

// PassFactor marks a code as used, or stores the new state of a passkey, and replaces the pending session by a new
// one.
func (s *People) PassFactor(ctx context.Context, by audit.Actor, p people.Passing) error {
	return s.changePeople(ctx, "pass second factor", func(tx *sql.Tx) error {
		who := p.Session.UserID
		statement, args := "DELETE FROM recovery_codes WHERE who = ? AND hash = ?", []any{who, p.Recovery.String()}
		switch {
		case p.Passkey != nil:
			statement = "UPDATE passkeys SET credential = ?, used = ? WHERE id = ? AND who = ?"
			args = []any{string(p.Passkey.Credential), micros(*p.Passkey.Used), p.Passkey.ID, who}
		case p.Step > 0:
			statement, args = "UPDATE users SET totp_step = ? WHERE id = ? AND totp_step < ?",
				[]any{p.Step, who, p.Step}
		}
		n, err := affected(tx.ExecContext(ctx, statement, args...))
		if err == nil && n > 0 {
			n, err = affected(tx.ExecContext(ctx, "DELETE FROM sessions WHERE id = ? AND who = ? AND pending = 1",
				p.Pending, who))
		}
		if err == nil && n == 0 {
			err = people.ErrNotFound
		}
		if err != nil {
			return err
		}
		return s.startSession(ctx, tx, by, p.Session)
	})
}

// revokeMade revokes the keys that a user made, if is returns true for them.
func (s *Accounts) revokeMade(ctx context.Context, tx *sql.Tx, by audit.Actor, userID string,
	is func(*account.Key) bool,
) error {
	rows, err := tx.QueryContext(ctx, "SELECT "+keyColumns+
		" FROM keys WHERE creator = ? AND revoked IS NULL ORDER BY created, id", userID)
	keys, err := collect(rows, err, scanKey)
	now := s.clock.now()
	for i := range keys {
		if err == nil && is(&keys[i]) {
			_, err = s.revokeKey(ctx, tx, by, &keys[i], now)
		}
	}
	return err
}
