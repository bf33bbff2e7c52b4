package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"weir/internal/conversation"
)

// KeepResponse keeps a response, in the place of one with the same id. A power
// cut may take it away, as it takes answers that are on their way.
func (s *Store) KeepResponse(ctx context.Context, r *conversation.Record) error {
	return s.writeFast(ctx, "keep response", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM responses WHERE id = ?", r.ID); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO responses (id, scope, previous, created, expires, sealed) VALUES (?, ?, ?, ?, ?, ?)",
			r.ID, r.Scope, r.Previous, micros(r.Created), micros(r.Expires), r.Sealed)
		if err != nil {
			return err
		}
		for _, item := range r.Items {
			const insert = "INSERT INTO response_items (item, response) VALUES (?, ?) ON CONFLICT (item, response) DO NOTHING"
			if _, err := tx.ExecContext(ctx, insert, item, r.ID); err != nil {
				return fmt.Errorf("item: %w", err)
			}
		}
		return nil
	})
}

// Response is the sealed content of a response, or conversation.ErrNotFound.
func (s *Store) Response(ctx context.Context, id string) (sealed []byte, err error) {
	const query = "SELECT sealed FROM responses WHERE id = ? AND expires > ?"
	err = s.read.QueryRowContext(ctx, query, id, micros(s.Now())).Scan(&sealed)
	return sealed, missing("read response", err)
}

// ResponseOfItem is the id of the newest response that has the item, or
// conversation.ErrNotFound.
func (s *Store) ResponseOfItem(ctx context.Context, item string) (id string, err error) {
	const query = "SELECT r.id FROM response_items i JOIN responses r ON r.id = i.response" +
		" WHERE i.item = ? AND r.expires > ? ORDER BY r.created DESC, r.id LIMIT 1"
	err = s.read.QueryRowContext(ctx, query, item, micros(s.Now())).Scan(&id)
	return id, missing("find item", err)
}

// ResponseChain is a response and the ones before it, the newest first, up to
// most of them or to one that is not there.
func (s *Store) ResponseChain(ctx context.Context, id string, most int) ([]conversation.Link, error) {
	now := micros(s.Now())
	rows, err := s.read.QueryContext(ctx, "WITH RECURSIVE chain (id, previous, size, turn) AS ("+
		"SELECT id, previous, length(sealed), 1 FROM responses WHERE id = ? AND expires > ?"+
		" UNION ALL SELECT r.id, r.previous, length(r.sealed), c.turn + 1 FROM chain c JOIN responses r ON r.id = c.previous"+
		" WHERE r.expires > ? AND c.turn < ?) SELECT id, previous, size FROM chain ORDER BY turn", id, now, now, most)
	links, err := collect(rows, err, func(row scanner) (l conversation.Link, err error) {
		return l, row.Scan(&l.ID, &l.Previous, &l.Size)
	})
	if err != nil {
		return nil, fmt.Errorf("read responses: %w", err)
	}
	return links, nil
}

// DeleteResponse deletes a response, or reports conversation.ErrNotFound.
func (s *Store) DeleteResponse(ctx context.Context, id string) error {
	return s.write(ctx, s.sure, "delete response", func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, "DELETE FROM responses WHERE id = ? AND expires > ?", id, micros(s.Now()))
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, conversation.ErrNotFound)
		}
		return nil
	})
}

// SweepResponses deletes what has expired, and returns how many responses that
// were.
func (s *Store) SweepResponses(ctx context.Context) (deleted int64, err error) {
	now := micros(s.Now())
	for n := int64(retainRows); n == retainRows; deleted += n {
		err := s.write(ctx, s.sure, "sweep responses", func(tx *sql.Tx) error {
			const some = "DELETE FROM responses WHERE id IN (SELECT id FROM responses WHERE expires <= ? LIMIT ?)"
			result, err := tx.ExecContext(ctx, some, now, retainRows)
			if err == nil {
				n, err = result.RowsAffected()
			}
			return err
		})
		if err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}

// missing is an error of a query for one row, in the words of the package
// conversation.
func missing(doing string, err error) error {
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return conversation.ErrNotFound
	case err != nil:
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}
