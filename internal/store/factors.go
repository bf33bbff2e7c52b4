package store

import (
	"context"
	"database/sql"

	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/signin"
)

// Factors stores the means by which users sign in: passwords, second factors and passkeys.
type Factors struct {
	*conn
	sessions *Sessions
}

// Passkeys returns the passkeys of a user, oldest first.
func (s *Factors) Passkeys(ctx context.Context, userID string) ([]signin.Passkey, error) {
	rows, err := s.read.QueryContext(ctx,
		"SELECT id, name, credential, created, used FROM passkeys WHERE who = ? ORDER BY created, id", userID)
	return listed("read passkeys", rows, err, func(row scanner) (p signin.Passkey, err error) {
		var created int64
		var used sql.NullInt64
		err = row.Scan(&p.ID, &p.Name, &p.Credential, &created, &used)
		p.Created, p.Used = fromMicros(created), optionalTime(used)
		return p, err
	})
}

// AddPasskey adds a passkey to a user who has a second factor.
func (s *Factors) AddPasskey(ctx context.Context, by audit.Actor, userID string, p signin.Passkey) error {
	return s.writeInTurn(ctx, "add passkey", func(tx *sql.Tx) error {
		l, err := loginOf(ctx, tx, userID)
		if err == nil && !l.SecondFactor {
			err = people.ErrNotFound
		}
		if err != nil {
			return err
		}
		n, err := affected(tx.ExecContext(ctx, "INSERT INTO passkeys (id, who, name, credential, created, used)"+
			" VALUES (?, ?, ?, ?, ?, NULL) ON CONFLICT (id) DO NOTHING",
			p.ID, l.ID, p.Name, string(p.Credential), micros(p.Created)))
		if err == nil && n == 0 {
			err = people.ErrTaken
		}
		if err != nil {
			return err
		}
		return s.record(ctx, tx, audit.Entry{Actor: by, Action: audit.PasskeyAdded, Object: userObject(&l.User)})
	})
}

// RemovePasskey removes a passkey of a user.
func (s *Factors) RemovePasskey(ctx context.Context, by audit.Actor, userID, id string) error {
	return s.writeInTurn(ctx, "remove passkey", func(tx *sql.Tx) error {
		l, err := loginOf(ctx, tx, userID)
		if err != nil {
			return err
		}
		n, err := affected(tx.ExecContext(ctx, "DELETE FROM passkeys WHERE id = ? AND who = ?", id, l.ID))
		if err == nil && n == 0 {
			err = people.ErrNotFound
		}
		if err != nil {
			return err
		}
		return s.record(ctx, tx, audit.Entry{Actor: by, Action: audit.PasskeyRemoved, Object: userObject(&l.User)})
	})
}

// SetPassword sets the password of the user of a session, ends all sessions and starts one. It returns
// people.ErrNotFound if the session has ended meanwhile.
func (s *Factors) SetPassword(ctx context.Context, by audit.Actor, session string, hash llm.Secret,
	n signin.NewSession,
) error {
	return s.writeInTurn(ctx, "set password", func(tx *sql.Tx) error {
		err := stillIn(ctx, tx, session, n.UserID)
		if err == nil {
			err = s.setPassword(ctx, tx, by, n.UserID, hash)
		}
		if err != nil {
			return err
		}
		return s.sessions.startSession(ctx, tx, by, n)
	})
}

// setPassword sets the password, or removes it, and ends the sessions and the reset links that existed before.
func (s *Factors) setPassword(ctx context.Context, tx *sql.Tx, by audit.Actor, userID string, hash llm.Secret) error {
	l, err := loginOf(ctx, tx, userID)
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE users SET password = ? WHERE id = ?", hash.Reveal(), l.ID)
	}
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM resets WHERE who = ?", l.ID); err != nil {
		return err
	}
	ended, err := affected(tx.ExecContext(ctx, "DELETE FROM sessions WHERE who = ?", l.ID))
	if err != nil {
		return err
	}
	e := audit.Entry{Actor: by, Action: audit.PasswordChanged, Object: userObject(&l.User)}
	return s.tell(ctx, tx, e, facts{"password": l.Password}, facts{"password": !hash.IsZero(), "sessions_ended": ended})
}

// Rehash replaces the hash of a password by another one of the same password, unless it changed meanwhile.
func (s *Factors) Rehash(ctx context.Context, userID string, old, hash llm.Secret) error {
	return s.write(ctx, s.sure, "renew hash of password", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE users SET password = ? WHERE id = ? AND password = ?", hash.Reveal(),
			userID, old.Reveal())
		return err
	})
}

// SetFactor sets or removes a user's second factor, and ends all their sessions except keep.
func (s *Factors) SetFactor(ctx context.Context, by audit.Actor, userID string, f people.Factor, keep string) error {
	return s.writeInTurn(ctx, "set second factor", func(tx *sql.Tx) error {
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
func (s *Factors) PassFactor(ctx context.Context, by audit.Actor, p signin.Passing) error {
	return s.writeInTurn(ctx, "pass second factor", func(tx *sql.Tx) error {
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
		return s.sessions.startSession(ctx, tx, by, p.Session)
	})
}
