package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// IdempotencyState says what is known of an idempotent request.
type IdempotencyState string

// The states.
const (
	IdempotencyNew        IdempotencyState = "new"         // not seen before: it is the caller's to run
	IdempotencyRunning    IdempotencyState = "running"     // somebody runs it
	IdempotencyDone       IdempotencyState = "done"        // it has a reply
	IdempotencyDoneStream IdempotencyState = "done_stream" // it was streamed and has no reply to give again
	IdempotencyConflict   IdempotencyState = "conflict"    // the key came with another body
)

// IdempotencyClaim is one request that carries an idempotency key.
type IdempotencyClaim struct {
	Scope string // the API key's id
	Key   string // a hash of the idempotency key
	Body  string // a hash of the request's body
	Node  string // who runs it: the journal's id
	Epoch string // which life of the node: another one each time it starts
}

// ErrIdempotencyLost says that a claim is not the caller's any more.
var ErrIdempotencyLost = errors.New("the idempotent request is not held by this node any more")

// IdempotencyBegin claims a request until now + ttl and tells its state: new
// when it is the caller's, who must then finish or forget it. Reply is what
// IdempotencyFinish was given.
func (s *Store) IdempotencyBegin(ctx context.Context, c IdempotencyClaim, ttl time.Duration) (state IdempotencyState, reply []byte, err error) {
	err = s.write(ctx, s.sure, "begin idempotent request", func(tx *sql.Tx) error {
		now := s.clock()
		state, reply = "", nil
		result, err := tx.ExecContext(ctx, "INSERT INTO idempotency (scope, key, body, state, node, epoch, expires) VALUES (?, ?, ?, ?, ?, ?, ?)"+
			" ON CONFLICT (scope, key) DO UPDATE SET body = excluded.body, state = excluded.state, node = excluded.node,"+
			" epoch = excluded.epoch, reply = NULL, expires = excluded.expires WHERE idempotency.expires <= ?",
			c.Scope, c.Key, c.Body, string(IdempotencyRunning), c.Node, c.Epoch, micros(now.Add(ttl)), micros(now))
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n > 0 {
			state = IdempotencyNew
			return err
		}
		var body string
		err = tx.QueryRowContext(ctx, "SELECT body, state, reply FROM idempotency WHERE scope = ? AND key = ?", c.Scope, c.Key).
			Scan(&body, &state, &reply)
		if err == nil && body != c.Body {
			state, reply = IdempotencyConflict, nil
		}
		return err
	})
	return state, reply, err
}

// IdempotencyFinish keeps the reply, which the caller has encrypted and
// bounded, of a claimed request; nil says that it was streamed.
func (s *Store) IdempotencyFinish(ctx context.Context, c IdempotencyClaim, reply []byte) error {
	state, stored := IdempotencyDone, any(reply)
	if reply == nil {
		state, stored = IdempotencyDoneStream, nil
	}
	return s.idempotency(ctx, "finish idempotent request", c,
		"UPDATE idempotency SET state = ?, reply = ?", string(state), stored)
}

// IdempotencyForget gives a claim up, so that the request can be made again.
func (s *Store) IdempotencyForget(ctx context.Context, c IdempotencyClaim) error {
	return s.idempotency(ctx, "forget idempotent request", c, "DELETE FROM idempotency")
}

// endTries is how often the end of a claim is told, and endPause how long between
// two times: a connection may be cut before its answer comes, and the answer to a
// client is ready and waits for it.
const (
	endTries = 3
	endPause = 50 * time.Millisecond
)

// idempotency runs a statement on the row that the claim holds, and again where
// the database gave an error.
func (s *Store) idempotency(ctx context.Context, doing string, c IdempotencyClaim, statement string, args ...any) error {
	args = append(args, c.Scope, c.Key, c.Node, c.Epoch, string(IdempotencyRunning))
	for try := 1; ; try++ {
		err := s.endIdempotent(ctx, doing, statement, args)
		switch lost := errors.Is(err, ErrIdempotencyLost); {
		case lost && try > 1: // the time before was heard
			return nil
		case err == nil, lost, try == endTries:
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-time.After(endPause):
		}
	}
}

func (s *Store) endIdempotent(ctx context.Context, doing, statement string, args []any) error {
	return s.write(ctx, s.sure, doing, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, statement+" WHERE scope = ? AND key = ? AND node = ? AND epoch = ? AND state = ?", args...)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrIdempotencyLost)
		}
		return nil
	})
}

// IdempotencyRelease gives up what earlier lives of a node were running when
// they died, and returns how many requests that were.
func (s *Store) IdempotencyRelease(ctx context.Context, node, epoch string) (int64, error) {
	return s.deleteIdempotency(ctx, "release idempotent requests",
		"node = ? AND epoch <> ? AND state = ?", node, epoch, string(IdempotencyRunning))
}

// IdempotencySweep deletes what has expired, and returns how many requests
// that were.
func (s *Store) IdempotencySweep(ctx context.Context) (int64, error) {
	return s.deleteIdempotency(ctx, "sweep idempotent requests", "expires <= ?", micros(s.clock()))
}

func (s *Store) deleteIdempotency(ctx context.Context, doing, where string, args ...any) (n int64, err error) {
	err = s.write(ctx, s.sure, doing, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, "DELETE FROM idempotency WHERE "+where, args...)
		if err != nil {
			return fmt.Errorf("delete: %w", err)
		}
		n, err = result.RowsAffected()
		return err
	})
	return n, err
}
