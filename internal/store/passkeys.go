package store

import (
	"context"
	"database/sql"

	"weir/internal/audit"
	"weir/internal/people"
)

// Passkeys returns the passkeys of a user, oldest first.
func (s *People) Passkeys(ctx context.Context, userID string) ([]people.Passkey, error) {
	rows, err := s.read.QueryContext(ctx,
		"SELECT id, name, credential, created, used FROM passkeys WHERE who = ? ORDER BY created, id", userID)
	return listed("read passkeys", rows, err, func(row scanner) (p people.Passkey, err error) {
		var created int64
		var used sql.NullInt64
		err = row.Scan(&p.ID, &p.Name, &p.Credential, &created, &used)
		p.Created, p.Used = fromMicros(created), optionalTime(used)
		return p, err
	})
}

// AddPasskey adds a passkey to a user who has a second factor.
func (s *People) AddPasskey(ctx context.Context, by audit.Actor, userID string, p people.Passkey) error {
	return s.changePeople(ctx, "add passkey", func(tx *sql.Tx) error {
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
func (s *People) RemovePasskey(ctx context.Context, by audit.Actor, userID, id string) error {
	return s.changePeople(ctx, "remove passkey", func(tx *sql.Tx) error {
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
