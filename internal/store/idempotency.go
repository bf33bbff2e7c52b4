package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"weir/internal/idempotency"
)

// IdempotencyClaim is a claim with who runs its request.
type IdempotencyClaim struct {
	idempotency.Claim
	Node  string // the journal's id
	Epoch string // which life of the node: another one each time it starts
}

// ErrIdempotencyLost says that a claim is not the caller's any more.
var ErrIdempotencyLost = errors.New("the idempotent request does not hold its key any more")

// IdempotencyBegin claims a request until now + ttl and tells its state: new
// when it is the caller's, who must then finish or forget it. Reply is what
// IdempotencyFinish was given.
func (s *Store) IdempotencyBegin(ctx context.Context, c IdempotencyClaim, ttl time.Duration) (state idempotency.State, reply []byte, err error) {
	err = idempotently(ctx, func(again bool) error {
		return s.write(ctx, s.sure, "begin idempotent request", func(tx *sql.Tx) (err error) {
			state, reply, err = c.begin(ctx, tx, s.Now(), ttl, again)
			return err
		})
	})
	return state, reply, err
}

// begin claims the request. Again says that it may have been claimed before
// without an answer.
func (c *IdempotencyClaim) begin(ctx context.Context, tx *sql.Tx, now time.Time, ttl time.Duration, again bool) (state idempotency.State, reply []byte, err error) {
	result, err := tx.ExecContext(ctx, "INSERT INTO idempotency (scope, key, body, state, request, node, epoch, expires) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"+
		" ON CONFLICT (scope, key) DO UPDATE SET body = excluded.body, state = excluded.state, request = excluded.request, node = excluded.node,"+
		" epoch = excluded.epoch, reply = NULL, expires = excluded.expires WHERE idempotency.expires <= ?",
		c.Scope, c.Key, c.Body, string(idempotency.Running), c.Request, c.Node, c.Epoch, micros(now.Add(ttl)), micros(now))
	if err != nil {
		return "", nil, err
	}
	if n, err := result.RowsAffected(); err != nil || n > 0 {
		return idempotency.New, nil, err
	}
	var body, request string
	err = tx.QueryRowContext(ctx, "SELECT body, state, request, reply FROM idempotency WHERE scope = ? AND key = ?", c.Scope, c.Key).
		Scan(&body, &state, &request, &reply)
	switch {
	case err != nil:
		return "", nil, err
	case again && request == c.Request:
		return idempotency.New, nil, nil
	case body != c.Body:
		return idempotency.Other, nil, nil
	}
	return state, reply, nil
}

// IdempotencyFinish keeps the reply, which the caller has encrypted and
// bounded, of a claimed request; nil says that it was streamed.
func (s *Store) IdempotencyFinish(ctx context.Context, c IdempotencyClaim, reply []byte) error {
	state, stored := idempotency.Done, any(reply)
	if reply == nil {
		state, stored = idempotency.Spent, nil
	}
	return s.idempotency(ctx, "finish idempotent request", c,
		"UPDATE idempotency SET state = ?, reply = ?", string(state), stored)
}

// IdempotencyForget gives a claim up, so that the request can be made again.
func (s *Store) IdempotencyForget(ctx context.Context, c IdempotencyClaim) error {
	return s.idempotency(ctx, "forget idempotent request", c, "DELETE FROM idempotency")
}

// claimTries is how often the begin or the end of a claim is told, and claimPause
// how long between two times: a connection may be cut before its answer comes, and
// a client waits for it.
const (
	claimTries = 3
	claimPause = 50 * time.Millisecond
)

// idempotently runs do, and again where the database gave an error: then what it
// did before may have been heard all the same.
func idempotently(ctx context.Context, do func(again bool) error) error {
	for try := 1; ; try++ {
		err := do(try > 1)
		if err == nil || errors.Is(err, ErrIdempotencyLost) || try == claimTries {
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		select {
		case <-ctx.Done():
		case <-time.After(claimPause):
		}
	}
}

// idempotency runs a statement on the row that the claim holds.
func (s *Store) idempotency(ctx context.Context, doing string, c IdempotencyClaim, statement string, args ...any) error {
	args = append(args, c.Scope, c.Key, c.Request, string(idempotency.Running))
	return idempotently(ctx, func(again bool) error {
		err := s.endIdempotent(ctx, doing, statement, args)
		if again && errors.Is(err, ErrIdempotencyLost) { // the time before was heard
			return nil
		}
		return err
	})
}

func (s *Store) endIdempotent(ctx context.Context, doing, statement string, args []any) error {
	return s.write(ctx, s.sure, doing, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, statement+" WHERE scope = ? AND key = ? AND request = ? AND state = ?", args...)
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
		"node = ? AND epoch <> ? AND state = ?", node, epoch, string(idempotency.Running))
}

// IdempotencySweep deletes what has expired, and returns how many requests
// that were.
func (s *Store) IdempotencySweep(ctx context.Context) (int64, error) {
	return s.deleteIdempotency(ctx, "sweep idempotent requests", "expires <= ?", micros(s.Now()))
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
