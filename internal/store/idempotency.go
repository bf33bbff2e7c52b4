package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"weir/internal/idempotency"
	"weir/internal/kept"
)

// IdempotencyRecord is a record with who runs its request.
type IdempotencyRecord struct {
	idempotency.Record
	Node  string // the journal's id
	Epoch string // which life of the node: another one each time it starts
}

// ErrIdempotencyLost says that a record is not the caller's any more.
var ErrIdempotencyLost = errors.New("the idempotent request does not hold its key any more")

// IdempotencyBegin records a request until now + ttl and tells its state: new
// when it is the caller's, who must then finish or forget it. Reply is what
// IdempotencyFinish was given.
func (s *Kept) IdempotencyBegin(ctx context.Context, c IdempotencyRecord, ttl time.Duration) (state idempotency.State,
	reply []byte, err error,
) {
	err = idempotently(ctx, func(again bool) error {
		return s.write(ctx, s.sure, "begin idempotent request", func(tx *sql.Tx) (err error) {
			state, reply, err = s.beginIdempotent(ctx, tx, &c, ttl, again)
			return err
		})
	})
	return state, reply, err
}

// beginIdempotent records the request. Again says that it may have been recorded before
// without an answer.
func (s *Kept) beginIdempotent(ctx context.Context, tx *sql.Tx, c *IdempotencyRecord, ttl time.Duration, again bool) (
	idempotency.State, []byte, error,
) {
	now := s.clock.now()
	for range beginTries {
		result, err := tx.ExecContext(
			ctx, "INSERT INTO idempotency (account, scope, key, body, state, request, node, epoch, expires) VALUES "+
				"(?, ?, ?, ?, ?, ?, ?, ?, ?)"+
				" ON CONFLICT (scope, key) DO NOTHING",
			c.Account, c.Scope, c.Key, c.Body, string(idempotency.Running), c.Request, c.Node, c.Epoch,
			micros(now.Add(ttl)))
		if err != nil {
			return "", nil, err
		}
		if n, err := result.RowsAffected(); err != nil || n > 0 {
			return idempotency.New, nil, err
		}
		state, reply, expired, err := c.find(ctx, tx, now, again)
		if err != nil || !expired {
			return state, reply, err
		}
		if _, err := s.forgetReplies(ctx, tx, "scope = ? AND key = ? AND expires <= ?", c.Scope, c.Key,
			micros(now)); err != nil {
			return "", nil, err
		}
	}
	return idempotency.Running, nil, nil // others take its place again and again
}

// find tells the state of a record that is there, and whether it has expired.
func (c *IdempotencyRecord) find(ctx context.Context, tx *sql.Tx, now time.Time, again bool) (state idempotency.State,
	reply []byte, expired bool, err error,
) {
	var body, request string
	var expires int64
	err = tx.QueryRowContext(
		ctx, "SELECT body, state, request, reply, expires FROM idempotency WHERE scope = ? AND key = ?", c.Scope,
		c.Key).
		Scan(&body, &state, &request, &reply, &expires)
	switch {
	case err != nil:
		return "", nil, false, err
	case expires <= micros(now):
		return "", nil, true, nil
	case again && request == c.Request:
		return idempotency.New, nil, false, nil
	case body != c.Body:
		return idempotency.Other, nil, false, nil
	}
	return state, reply, false, nil
}

// IdempotencyFinish keeps the reply, which the caller has encrypted and
// bounded, of a recorded request; nil says that it was streamed. A reply that may not be
// kept is a kept.Refusal, and the record as one that was streamed.
func (s *Kept) IdempotencyFinish(ctx context.Context, c IdempotencyRecord, reply []byte) error {
	refused := error(nil)
	if reply != nil {
		if err := s.checkSpace(c.Account, int64(len(reply))); err != nil {
			reply, refused = nil, err
		}
	}
	err := s.idempotency(ctx, "finish idempotent request", c, func(tx *sql.Tx) (string, []any, error) {
		if reply == nil {
			return "UPDATE idempotency SET state = ?", []any{string(idempotency.Spent)}, nil
		}
		err := s.enter(ctx, tx, c.Account, kept.Reply, 1, int64(len(reply)))
		if refused = nil; errors.Is(err, kept.OverQuota) {
			refused = err
			return "UPDATE idempotency SET state = ?", []any{string(idempotency.Spent)}, nil
		}
		return "UPDATE idempotency SET state = ?, reply = ?, size = ?", []any{
			string(idempotency.Done), reply, len(reply),
		}, err
	})
	if err != nil {
		return err
	}
	return refused
}

// IdempotencyForget gives a record up, so that the request can be made again.
func (s *Kept) IdempotencyForget(ctx context.Context, c IdempotencyRecord) error {
	return s.idempotency(ctx, "forget idempotent request", c, func(*sql.Tx) (string, []any, error) {
		return "DELETE FROM idempotency", nil, nil
	})
}

// beginTries is how often the begin or the end of a record is told, and beginPause
// how long between two times: a connection may be cut before its answer comes, and
// a client waits for it.
const (
	beginTries = 3
	beginPause = 50 * time.Millisecond
)

// idempotently runs do, and again where the database gave an error: then what it
// did before may have been heard all the same.
func idempotently(ctx context.Context, do func(again bool) error) error {
	for try := 1; ; try++ {
		err := do(try > 1)
		if err == nil || errors.Is(err, ErrIdempotencyLost) || try == beginTries {
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		select {
		case <-ctx.Done():
		case <-time.After(beginPause):
		}
	}
}

// idempotency runs a statement on the row that the record holds.
func (s *Kept) idempotency(ctx context.Context, doing string, c IdempotencyRecord, statement func(tx *sql.Tx) (string,
	[]any, error),
) error {
	return idempotently(ctx, func(again bool) error {
		err := s.write(ctx, s.sure, doing, func(tx *sql.Tx) error {
			text, args, err := statement(tx)
			if err != nil {
				return err
			}
			args = append(args, c.Scope, c.Key, c.Request, string(idempotency.Running))
			result, err := tx.ExecContext(ctx, text+" WHERE scope = ? AND key = ? AND request = ? AND state = ?",
				args...)
			if err != nil {
				return err
			}
			if n, err := result.RowsAffected(); err != nil || n == 0 {
				return errors.Join(err, ErrIdempotencyLost)
			}
			return nil
		})
		if again && errors.Is(err, ErrIdempotencyLost) { // the time before was heard
			return nil
		}
		return err
	})
}

// IdempotencyRelease gives up what earlier lives of a node were running when
// they died, and returns how many requests that were.
func (s *Kept) IdempotencyRelease(ctx context.Context, node, epoch string) (n int64, err error) {
	err = s.write(ctx, s.sure, "release idempotent requests", func(tx *sql.Tx) error {
		n, err = s.forgetReplies(ctx, tx, "node = ? AND epoch <> ? AND state = ?", node, epoch,
			string(idempotency.Running))
		return err
	})
	return n, err
}

// IdempotencySweep deletes what has expired, and returns how many requests
// that were.
func (s *Kept) IdempotencySweep(ctx context.Context) (int64, error) {
	return s.inPortions(ctx, "sweep idempotent requests", func(tx *sql.Tx) (int64, error) {
		return s.forgetReplies(ctx, tx,
			"(scope, key) IN (SELECT scope, key FROM idempotency WHERE expires <= ? LIMIT ?)", micros(s.clock.now()),
			retainRows)
	})
}

// forgetReplies deletes requests with what is kept of them, and returns how many those were.
func (s *Kept) forgetReplies(ctx context.Context, tx *sql.Tx, where string, args ...any) (n int64, err error) {
	_, n, err = s.giveBack(ctx, tx, kept.Reply, "DELETE FROM idempotency WHERE "+where+
		" RETURNING account, CASE WHEN reply IS NULL THEN 0 ELSE size END", args...)
	return n, err
}
