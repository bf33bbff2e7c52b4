// Package idempotency is what requests claim that carry an Idempotency-Key
// (https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/): the
// pipeline's and the administration's.
package idempotency

import (
	"context"
	"time"
)

// TTL is how long a key holds.
const TTL = 24 * time.Hour

// MaxKey bounds the header, in bytes.
const MaxKey = 255

// State says what is known of a key.
type State string

// The states.
const (
	New     State = "new"         // this request is the first, and now runs
	Running State = "running"     // the first one still runs
	Done    State = "done"        // the first one's reply is kept
	Spent   State = "done_stream" // the first one has ended, and its reply is not kept
	Other   State = "conflict"    // it was used with another request
)

// Claim is a request's claim on its key.
type Claim struct {
	Scope   string // the caller, whose keys are not another's
	Key     string // the header, hashed, in hexadecimal
	Body    string // what was asked, hashed, in hexadecimal
	Request string // the request's id, which no other claim has
}

// Store keeps the claims of all nodes.
type Store interface {
	// Claim makes the claim, unless there is one, and says what it found; the reply
	// is that of Done.
	Claim(ctx context.Context, c Claim, ttl time.Duration) (State, []byte, error)
	// Keep ends a claim with its reply, which the caller has sealed and bounded; nil
	// where none is kept: Spent.
	Keep(ctx context.Context, c Claim, reply []byte) error
	// Forget ends a claim as if it had never been.
	Forget(ctx context.Context, c Claim) error
}
