package app

import (
	"context"
	"time"

	"github.com/google/uuid"

	"weir/internal/idempotency"
	"weir/internal/store"
)

// claims are the database's, made in the name of this life of this node.
type claims struct {
	store       *store.Store
	node, epoch string
}

// newClaims gives up what an earlier life of the node was running when it died, and
// what has expired.
func newClaims(ctx context.Context, db *store.Store, node string) (*claims, error) {
	c := &claims{store: db, node: node, epoch: uuid.NewString()}
	if _, err := db.IdempotencyRelease(ctx, c.node, c.epoch); err != nil {
		return nil, err
	}
	_, err := db.IdempotencySweep(ctx)
	return c, err
}

func (c *claims) of(one idempotency.Claim) store.IdempotencyClaim {
	return store.IdempotencyClaim{Claim: one, Node: c.node, Epoch: c.epoch}
}

// Claim makes the claim, unless there is one.
func (c *claims) Claim(ctx context.Context, one idempotency.Claim, ttl time.Duration) (idempotency.State, []byte, error) {
	return c.store.IdempotencyBegin(ctx, c.of(one), ttl)
}

// Keep ends a claim with its reply; nil where none is kept.
func (c *claims) Keep(ctx context.Context, one idempotency.Claim, reply []byte) error {
	return c.store.IdempotencyFinish(ctx, c.of(one), reply)
}

// Forget ends a claim as if it had never been.
func (c *claims) Forget(ctx context.Context, one idempotency.Claim) error {
	return c.store.IdempotencyForget(ctx, c.of(one))
}
