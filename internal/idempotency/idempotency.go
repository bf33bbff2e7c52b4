// Package idempotency keeps a record of each request that carries an Idempotency-Key
// (https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/): the
// pipeline's and the administration's.
package idempotency

import (
	"context"
	"net/http"
	"time"

	"weir/internal/llm"
)

const (
	header = "Idempotency-Key"
	maxKey = 255 // bytes of the header
)

// TTL is for how long a key holds.
const TTL = 24 * time.Hour

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

// Record is a request that carries a key.
type Record struct {
	Account string // whose quota a reply counts in; empty for none
	Scope   string // the caller, whose keys are not another's
	Key     string // the header, hashed, in hexadecimal
	Body    string // what was asked, hashed, in hexadecimal
	Request string // the request's id, which no other record has
}

// Store keeps the records of all nodes.
type Store interface {
	// Begin makes the record, unless there is one, and says what it found; the reply
	// is that of Done.
	Begin(ctx context.Context, c Record, ttl time.Duration) (State, []byte, error)
	// Keep ends a record with its reply, which the caller has sealed and bounded; nil
	// where none is kept: Spent. So it is with a kept.Refusal, the error where no more may
	// be kept.
	Keep(ctx context.Context, c Record, reply []byte) error
	// Forget ends a record as if it had never been.
	Forget(ctx context.Context, c Record) error
}

// KeyOf is the key of a request, empty for none. One that is too long is refused, and two,
// of which a proxy may have read the other one.
func KeyOf(h http.Header) (string, error) {
	key := h.Get(header)
	if len(key) > maxKey {
		return "", llm.Invalidf(header, "The header is longer than %d characters.", maxKey)
	}
	return key, llm.Once(h, header)
}

// Begin makes a record for 24 hours. It is New, or Done with the first request's reply;
// anything else is an error, which for Spent says why there is no reply.
func Begin(ctx context.Context, s Store, c Record, spent string) (State, []byte, error) {
	state, reply, err := s.Begin(ctx, c, TTL)
	if err != nil {
		return "", nil, &llm.Error{
			Code:    llm.CodeOverloaded,
			Message: "The Idempotency-Key cannot be checked right now. Try again shortly.", RetryAfter: time.Second,
			Err: err,
		}
	}
	message := "The first request with this Idempotency-Key is still running. Try again when it has ended."
	switch state {
	case New, Done:
		return state, reply, nil
	case Other:
		message = "The Idempotency-Key was used with another request. Use a new key for a new request."
	case Spent:
		message = spent
	}
	return "", nil, &llm.Error{Code: llm.CodeIdempotencyConflict, Message: message, Param: header}
}

// Unopened says that what was kept for an Idempotency-Key cannot be opened with the token of the request: it was sealed
// with the one that the key had before it was rotated.
func Unopened(err error) error {
	return &llm.Error{
		Code: llm.CodeIdempotencyConflict, Param: header, Err: err,
		Message: "The Idempotency-Key was used with another token of this API key, before it was rotated: only that " +
			"token opens what was answered. The request is not made again. Use a new Idempotency-Key to make it again.",
	}
}
