// Package idempotency keeps a record of each request that carries an Idempotency-Key
// (https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/), for the client APIs and the
// administration API.
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

// TTL is how long a key is valid.
const TTL = 24 * time.Hour

// State is the state of a key.
type State string

// States of a key.
const (
	New     State = "new"         // this request is the first, and is running now
	Running State = "running"     // the first request is still running
	Done    State = "done"        // the first request's reply is stored
	Spent   State = "done_stream" // the first request has ended, and its reply is not stored
	Other   State = "conflict"    // the key was used with another request
)

// Record describes a request that carries a key.
type Record struct {
	Account string // id of the account that stores the reply; empty for none
	Scope   string // the caller; keys of different callers are independent
	Key     string // SHA-256 of the header, in hexadecimal
	Body    string // SHA-256 of the request, in hexadecimal
	Request string // the request's id, unique among records
}

// Store stores the records of all nodes.
type Store interface {
	// Begin adds the record, unless one exists, and returns the state; for Done also the reply.
	Begin(ctx context.Context, c Record, ttl time.Duration) (State, []byte, error)
	// Keep ends a record with its reply, which the caller has encrypted and bounded. nil means that no reply is
	// stored: the state becomes Spent. If the reply must not be stored, the error is a kept.Refusal, and the state
	// becomes Spent.
	Keep(ctx context.Context, c Record, reply []byte) error
	// Forget deletes a record.
	Forget(ctx context.Context, c Record) error
}

// KeyOf returns the key of a request, empty for none. It returns an error if the key is too long, or if there are
// two, because a proxy may have used the other one.
func KeyOf(h http.Header) (string, error) {
	key := h.Get(header)
	if len(key) > maxKey {
		return "", llm.Invalidf(header, "The header is longer than %d characters.", maxKey)
	}
	return key, llm.Once(h, header)
}

// Begin adds a record for 24 hours. The state is New, or Done with the first request's reply. All other states return
// an error; spent is its message for the state Spent.
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

// Unopened returns the error for a stored reply that cannot be decrypted with the token of the request, because it
// was encrypted with the key's former token, before a rotation.
func Unopened(err error) error {
	return &llm.Error{
		Code: llm.CodeIdempotencyConflict, Param: header, Err: err,
		Message: "The Idempotency-Key was used with another token of this API key, before the key was rotated: " +
			"only that token decrypts the stored reply. The request was not made again: to make it again, use a new " +
			"Idempotency-Key.",
	}
}
