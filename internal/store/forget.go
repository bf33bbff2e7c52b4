package store

import (
	"context"
	"database/sql"

	"weir/internal/people"
)

// forget takes what names a person out of what stays: out of the entries of the audit log that have proofs, and out of
// the rows that say who did something. They are known there by the user's id from then on.
func (s *conn) forget(ctx context.Context, tx *sql.Tx, u *people.User) error {
	const actor = "UPDATE audit SET actor_name = '', address = '', actor_salt = '' WHERE actor_proof <> '' AND "
	const object = "UPDATE audit SET object_name = '', object_salt = ''"
	const facts = ", was = NULL, became = NULL"
	for _, step := range []struct {
		statement string
		args      []any
	}{
		{actor + "actor_kind = 'user' AND actor_id = ?", []any{u.ID}},
		{actor + "actor_kind = 'nobody' AND object_id = ?", []any{u.ID}},
		{object + facts + " WHERE object_proof <> '' AND object_kind = 'user' AND object_id = ?", []any{u.ID}},
		{object + facts + " WHERE object_proof <> '' AND object_kind = 'session' AND actor_id = ?", []any{u.ID}},
		{object + " WHERE object_proof <> '' AND object_kind = 'member' AND object_id = ?", []any{u.ID}},
		{object + " WHERE object_proof <> '' AND object_kind = 'invitation' AND object_name = ?", []any{u.Email}},
		{"UPDATE credits SET who = ? WHERE who = ?", []any{"user " + u.ID, "user " + u.Email}},
		{"UPDATE corrections SET who = ? WHERE who = ?", []any{"user " + u.ID, "user " + u.Email}},
		{"UPDATE managed_versions SET who = ? WHERE who = ?", []any{"user " + u.ID, "user " + u.Email}},
		{"UPDATE invitations SET inviter = '' WHERE inviter_id = ?", []any{u.ID}},
	} {
		if _, err := tx.ExecContext(ctx, step.statement, step.args...); err != nil {
			return err
		}
	}
	return nil
}
