package store

import (
	"context"
	"database/sql"

	"weir/internal/account"
	"weir/internal/audit"
)

// rotate replaces the token of a key. The former token remains valid for the requested time.
func rotate(ctx context.Context, tx *sql.Tx, before *account.Key, r *account.Rotation) error {
	former, until := "''", any(nil)
	last4 := ""
	if !r.FormerUntil.IsZero() {
		former, last4, until = "hash", before.Last4, micros(r.FormerUntil)
	}
	_, err := tx.ExecContext(ctx, "UPDATE keys SET former = "+former+", former_last4 = ?, former_until = ?, hash = ?,"+
		" last4 = ? WHERE id = ?", last4, until, r.Hash.String(), r.Last4, before.ID)
	return err
}

// forgetPerson ends the use of its creator's connections by a key that somebody else has rotated.
func forgetPerson(ctx context.Context, tx *sql.Tx, k *account.Key, by audit.Actor) error {
	if by.Kind == audit.User && by.ID == k.Person {
		return nil
	}
	_, err := tx.ExecContext(ctx, "UPDATE keys SET person = '' WHERE id = ?", k.ID)
	return err
}
