package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"weir/internal/conversation"
	"weir/internal/stored"
)

// itemSize is the space, in bytes, of an item in the index of responses: two hashes, in the table and in the indexes.
const itemSize = 256

// KeepResponse stores a response. It replaces one with the same id. A power cut may lose it, as it loses answers in
// flight. If the response must not be stored, the error is a stored.Refusal.
func (s *Kept) KeepResponse(ctx context.Context, r *conversation.Record) error {
	size := int64(len(r.Sealed) + itemSize*len(r.Items))
	if err := s.checkSpace(r.Account, size); err != nil {
		return err
	}
	k := &keeping{Record: r, size: size, next: make(chan struct{}, 1), done: make(chan struct{})}
	return s.together.keep(ctx, k, s.writeTogether)
}

// keepAlone stores a response in a transaction of its own.
func (s *Kept) keepAlone(ctx context.Context, k *keeping) error {
	var refused error
	err := s.writeFast(ctx, "keep response", func(tx *sql.Tx) error {
		if _, _, err := s.giveBack(ctx, tx, stored.Response,
			"DELETE FROM responses WHERE id = ? RETURNING account, size",
			k.ID); err != nil {
			return err
		}
		if refused = s.enter(ctx, tx, k.Account, stored.Response, 1, k.size); refused != nil {
			if errors.Is(refused, stored.OverQuota) { // the previous response with the id is deleted in any case
				return nil
			}
			return refused
		}
		return s.insertResponses(ctx, tx, []*keeping{k})
	})
	if err != nil {
		return err
	}
	return refused
}

// Response returns the encrypted content of a response, or conversation.ErrNotFound.
func (s *Kept) Response(ctx context.Context, id string) (sealed []byte, err error) {
	const query = "SELECT sealed FROM responses WHERE id = ? AND expires > ?"
	err = s.read.QueryRowContext(ctx, query, id, micros(s.clock.now())).Scan(&sealed)
	return sealed, missing("read response", err)
}

// ResponseOfItem returns the newest response that has the item, or conversation.ErrNotFound.
func (s *Kept) ResponseOfItem(ctx context.Context, item string) (l conversation.Link, err error) {
	const query = "SELECT r.id, r.previous, length(r.sealed) FROM response_items i JOIN responses r ON r.id = " +
		"i.response" +
		" WHERE i.item = ? AND r.expires > ? ORDER BY r.created DESC, r.id LIMIT 1"
	err = s.read.QueryRowContext(ctx, query, item, micros(s.clock.now())).Scan(&l.ID, &l.Previous, &l.Size)
	return l, missing("find item", err)
}

// ResponseChain returns a response and its predecessors, newest first, up to most of them. It ends at one that does
// not exist.
func (s *Kept) ResponseChain(ctx context.Context, id string, most int) ([]conversation.Link, error) {
	now := micros(s.clock.now())
	rows, err := s.read.QueryContext(ctx, "WITH RECURSIVE chain (id, previous, size, turn) AS ("+
		"SELECT id, previous, length(sealed), 1 FROM responses WHERE id = ? AND expires > ?"+
		" UNION ALL SELECT r.id, r.previous, length(r.sealed), c.turn + 1 FROM chain c JOIN responses r ON r.id = "+
		"c.previous"+
		" WHERE r.expires > ? AND c.turn < ?) SELECT id, previous, size FROM chain ORDER BY turn", id, now, now, most)
	return listed("read responses", rows, err, func(row scanner) (l conversation.Link, err error) {
		return l, row.Scan(&l.ID, &l.Previous, &l.Size)
	})
}

// DeleteResponse deletes a response, or returns conversation.ErrNotFound.
func (s *Kept) DeleteResponse(ctx context.Context, id string) error {
	return s.write(ctx, s.sure, "delete response", func(tx *sql.Tx) error {
		_, n, err := s.giveBack(ctx, tx, stored.Response,
			"DELETE FROM responses WHERE id = ? AND expires > ? RETURNING account, size", id, micros(s.clock.now()))
		if err == nil && n == 0 {
			err = conversation.ErrNotFound
		}
		return err
	})
}

// SweepResponses deletes expired responses, and returns how many they were.
func (s *Kept) SweepResponses(ctx context.Context) (int64, error) {
	const some = "DELETE FROM responses WHERE id IN (SELECT id FROM responses WHERE expires <= ? LIMIT ?) RETURNING " +
		"account, size"
	return s.inPortions(ctx, "sweep responses", func(tx *sql.Tx) (n int64, err error) {
		_, n, err = s.giveBack(ctx, tx, stored.Response, some, micros(s.clock.now()), retainRows)
		return n, err
	})
}

// inPortions runs a deletion of at most retainRows rows until there is less to delete, and returns how many rows are
// deleted.
func (s *Kept) inPortions(ctx context.Context, doing string, some func(tx *sql.Tx) (int64, error)) (deleted int64,
	err error,
) {
	for n := int64(retainRows); n == retainRows; deleted += n {
		err := s.writeDeletion(ctx, doing, func(tx *sql.Tx) (err error) {
			n, err = some(tx)
			return err
		})
		if err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}

// missing converts sql.ErrNoRows to conversation.ErrNotFound and wraps other errors.
func missing(doing string, err error) error {
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return conversation.ErrNotFound
	case err != nil:
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}
