package app

import (
	"context"
	"time"

	"github.com/google/uuid"

	"weir/internal/gateway"
	"weir/internal/store"
)

// idempotency lends the pipeline the database's claims, in the name of this
// life of this node.
type idempotency struct {
	store       *store.Store
	node, epoch string
}

var idempotencyStates = map[store.IdempotencyState]gateway.IdempotencyState{
	store.IdempotencyNew:        gateway.IdempotencyNew,
	store.IdempotencyRunning:    gateway.IdempotencyRunning,
	store.IdempotencyConflict:   gateway.IdempotencyOther,
	store.IdempotencyDone:       gateway.IdempotencyDone,
	store.IdempotencyDoneStream: gateway.IdempotencyStream,
}

// newIdempotency gives up what an earlier life of the node was running when it
// died, and what has expired.
func newIdempotency(ctx context.Context, db *store.Store, node string) (*idempotency, error) {
	i := &idempotency{store: db, node: node, epoch: uuid.NewString()}
	if _, err := db.IdempotencyRelease(ctx, i.node, i.epoch); err != nil {
		return nil, err
	}
	_, err := db.IdempotencySweep(ctx)
	return i, err
}

func (i *idempotency) claim(c gateway.IdempotencyClaim) store.IdempotencyClaim {
	return store.IdempotencyClaim{Scope: c.Scope, Key: c.Key, Body: c.Body, Request: c.Request, Node: i.node, Epoch: i.epoch}
}

// Claim makes the claim, unless there is one.
func (i *idempotency) Claim(ctx context.Context, c gateway.IdempotencyClaim, ttl time.Duration) (gateway.IdempotencyState, []byte, error) {
	state, reply, err := i.store.IdempotencyBegin(ctx, i.claim(c), ttl)
	return idempotencyStates[state], reply, err
}

// Keep ends a claim with its reply; nil for a stream.
func (i *idempotency) Keep(ctx context.Context, c gateway.IdempotencyClaim, reply []byte) error {
	return i.store.IdempotencyFinish(ctx, i.claim(c), reply)
}

// Forget ends a claim as if it had never been.
func (i *idempotency) Forget(ctx context.Context, c gateway.IdempotencyClaim) error {
	return i.store.IdempotencyForget(ctx, i.claim(c))
}
