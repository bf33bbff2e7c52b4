package app

import (
	"context"
	"time"

	"github.com/google/uuid"

	"weir/internal/idempotency"
	"weir/internal/store"
)

// idempotencyStore are the database's, made in the name of this life of this node.
type idempotencyStore struct {
	store       *store.Kept
	node, epoch string
}

// newIdempotencyStore gives up what an earlier life of the node was running when it died, and
// what has expired.
func newIdempotencyStore(ctx context.Context, db *store.Kept, node string) (*idempotencyStore, error) {
	c := &idempotencyStore{store: db, node: node, epoch: uuid.NewString()}
	if _, err := db.IdempotencyRelease(ctx, c.node, c.epoch); err != nil {
		return nil, err
	}
	_, err := db.IdempotencySweep(ctx)
	return c, err
}

func (c *idempotencyStore) of(one idempotency.Record) store.IdempotencyRecord {
	return store.IdempotencyRecord{Record: one, Node: c.node, Epoch: c.epoch}
}

// Begin makes the record, unless there is one.
func (c *idempotencyStore) Begin(ctx context.Context, one idempotency.Record, ttl time.Duration) (idempotency.State,
	[]byte, error,
) {
	return c.store.IdempotencyBegin(ctx, c.of(one), ttl)
}

// Keep ends a record with its reply; nil where none is kept.
func (c *idempotencyStore) Keep(ctx context.Context, one idempotency.Record, reply []byte) error {
	return c.store.IdempotencyFinish(ctx, c.of(one), reply)
}

// Forget ends a record as if it had never been.
func (c *idempotencyStore) Forget(ctx context.Context, one idempotency.Record) error {
	return c.store.IdempotencyForget(ctx, c.of(one))
}
