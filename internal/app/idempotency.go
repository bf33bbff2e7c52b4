package app

import (
	"context"
	"time"

	"github.com/google/uuid"

	"weir/internal/idempotency"
	"weir/internal/store"
)

// idempotencyStore stores idempotency records in the database, marked with this node and this run of it.
type idempotencyStore struct {
	store       *store.Kept
	node, epoch string
}

// newIdempotencyStore releases the records that an earlier run of this node left unfinished, and deletes expired
// ones.
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

// Begin creates the record, unless it exists.
func (c *idempotencyStore) Begin(ctx context.Context, one idempotency.Record, ttl time.Duration) (idempotency.State,
	[]byte, error,
) {
	return c.store.IdempotencyBegin(ctx, c.of(one), ttl)
}

// Keep finishes a record with its reply; nil if none is stored.
func (c *idempotencyStore) Keep(ctx context.Context, one idempotency.Record, reply []byte) error {
	return c.store.IdempotencyFinish(ctx, c.of(one), reply)
}

// Forget deletes a record.
func (c *idempotencyStore) Forget(ctx context.Context, one idempotency.Record) error {
	return c.store.IdempotencyForget(ctx, c.of(one))
}
