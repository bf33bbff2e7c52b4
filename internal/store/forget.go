package store

import (
	"context"
	"database/sql"

	"weir/internal/people"
)

const (
	// forgetObject deletes the names of the objects of audit log entries, and forgetFacts the values.
	forgetObject = "UPDATE audit SET object_name = '', object_salt = ''"
	forgetFacts  = ", was = NULL, became = NULL"
)

// forget deletes a person's name and address from the data that remains: from the audit log entries that have a
// salted hash in place of them, and from the rows that name who did something. There the user's id remains.
func (s *Users) forget(ctx context.Context, tx *sql.Tx, u *people.User) error {
	const actor = "UPDATE audit SET actor_name = '', address = '', actor_salt = '' WHERE actor_proof <> '' AND "
	for _, step := range []struct {
		statement string
		args      []any
	}{
		{actor + "actor_kind = 'user' AND actor_id = ?", []any{u.ID}},
		{actor + "actor_kind = 'nobody' AND object_id = ?", []any{u.ID}},
		{forgetObject + forgetFacts + " WHERE object_proof <> '' AND object_kind = 'user'" +
			" AND object_id = ?", []any{u.ID}},
		{forgetObject + forgetFacts + " WHERE object_proof <> '' AND object_kind = 'session'" +
			" AND actor_id = ?", []any{u.ID}},
		{forgetObject + " WHERE object_proof <> '' AND object_kind = 'member' AND object_id = ?", []any{u.ID}},
		{forgetObject + " WHERE object_proof <> '' AND object_kind = 'invitation' AND object_name = ?", []any{u.Email}},
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
