package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"weir/internal/idempotency"
	"weir/internal/stored"
)

// IdempotencyRecord is a record with the node that runs its request.
type IdempotencyRecord struct {
	idempotency.Record
	Node  string // the journal's id
	Epoch string // the process of the node; it changes each time the node starts
}

// ErrIdempotencyLost means that the record no longer belongs to the caller.
var ErrIdempotencyLost = errors.New("the idempotency key no longer belongs to this request")

// IdempotencyBegin records a request until now + ttl and returns its state. If it is new, it belongs to the caller,
// who must then finish or forget it. reply is the argument of IdempotencyFinish.
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

// beginIdempotent records the request. again means that an earlier call may have recorded it without returning.
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
	return idempotency.Running, nil, nil // other requests take its place repeatedly
}

// find returns the state of an existing record, and whether it has expired.
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

// IdempotencyFinish stores the reply of a recorded request, which the caller has encrypted and bounded; nil means
// that the reply was streamed. If the reply must not be stored, it returns a stored.Refusal, and the record is as after
// a streamed reply.
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
		err := s.enter(ctx, tx, c.Account, stored.Reply, 1, int64(len(reply)))
		if refused = nil; errors.Is(err, stored.OverQuota) {
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

// IdempotencyForget deletes a record, so that the request can be made again.
func (s *Kept) IdempotencyForget(ctx context.Context, c IdempotencyRecord) error {
	return s.idempotency(ctx, "forget idempotent request", c, func(*sql.Tx) (string, []any, error) {
		return "DELETE FROM idempotency", nil, nil
	})
}

// beginTries is how often the begin or the end of a record is tried, and beginPause the time between: a connection
// may fail before its answer arrives, while a client waits.
const (
	beginTries = 3
	beginPause = 50 * time.Millisecond
)

// idempotently calls do, and again after an error of the database. The failed call may have succeeded in the
// database.
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

// idempotency runs a statement on the row of the record.
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
		if again && errors.Is(err, ErrIdempotencyLost) { // the previous call succeeded
			return nil
		}
		return err
	})
}

// IdempotencyRelease deletes the records of requests that earlier processes of a node were running when they died,
// and returns how many they were.
func (s *Kept) IdempotencyRelease(ctx context.Context, node, epoch string) (n int64, err error) {
	err = s.write(ctx, s.sure, "release idempotent requests", func(tx *sql.Tx) error {
		n, err = s.forgetReplies(ctx, tx, "node = ? AND epoch <> ? AND state = ?", node, epoch,
			string(idempotency.Running))
		return err
	})
	return n, err
}

// IdempotencySweep deletes expired records, and returns how many they were.
func (s *Kept) IdempotencySweep(ctx context.Context) (int64, error) {
	return s.inPortions(ctx, "sweep idempotent requests", func(tx *sql.Tx) (int64, error) {
		return s.forgetReplies(ctx, tx,
			"(scope, key) IN (SELECT scope, key FROM idempotency WHERE expires <= ? LIMIT ?)", micros(s.clock.now()),
			retainRows)
	})
}

// forgetReplies deletes requests with their replies, and returns how many they were.
func (s *Kept) forgetReplies(ctx context.Context, tx *sql.Tx, where string, args ...any) (n int64, err error) {
	_, n, err = s.giveBack(ctx, tx, stored.Reply, "DELETE FROM idempotency WHERE "+where+
		" RETURNING account, CASE WHEN reply IS NULL THEN 0 ELSE size END", args...)
	return n, err
}
