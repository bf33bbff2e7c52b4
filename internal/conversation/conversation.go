// Package conversation keeps what was answered to POST /v1/responses, so that
// later requests can go on from it (previous_response_id), refer to parts of it
// (item_reference), read it and delete it, whichever provider answered:
// https://platform.openai.com/docs/guides/conversation-state. Providers see none
// of this: a request that goes on from another reaches them with all of its
// input.
//
// What is kept belongs to the API key that asked for it. It is sealed with a key
// that only the holder of that API key can derive, and named by hashes.
package conversation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/internal/llm"
	"weir/internal/seal"
)

const (
	// maxTurns is how many responses a conversation may go on from.
	maxTurns = 1000
	// maxBytes bounds all that is read of a conversation, as it is kept.
	maxBytes = 64 << 20
	// maxItems is how many items of one response can be referred to, and how many
	// items one request may refer to: each is looked up.
	maxItems = 4096
	// maxInput is how many items a request may have itself: the shortest take
	// many times their size.
	maxInput = 1 << 16
	// atOnce is how many conversations are read at a time: each takes memory of
	// a few times its size, and the database is read by no more at once.
	atOnce = 4
)

// ErrNotFound says that the store has no such response, or has it no longer.
var ErrNotFound = errors.New("conversation: not found")

// Record is a response as it is stored. Its ids are hashes.
type Record struct {
	Account  string // whose quota it counts in
	Scope    string // the API key's id
	ID       string
	Previous string   // the response that it goes on from; empty for none
	Items    []string // the items that it can be found by
	Created  time.Time
	Expires  time.Time
	Sealed   []byte
}

// Link is a response's place in a conversation.
type Link struct {
	ID       string
	Previous string
	Size     int64 // bytes of what is sealed
}

// Store keeps the responses of all nodes. What has expired is not there.
type Store interface {
	// KeepResponse keeps a response, in the place of one with the same id, or tells by a
	// kept.Refusal why it may not.
	KeepResponse(ctx context.Context, r *Record) error
	// Response is the sealed content of a response, or ErrNotFound.
	Response(ctx context.Context, id string) ([]byte, error)
	// ResponseChain is a response and the ones before it, the newest first, up
	// to most of them or to one that is not there.
	ResponseChain(ctx context.Context, id string, most int) ([]Link, error)
	// ResponseOfItem is the id of the newest response with an item, or
	// ErrNotFound.
	ResponseOfItem(ctx context.Context, item string) (string, error)
	// DeleteResponse deletes a response, or reports ErrNotFound.
	DeleteResponse(ctx context.Context, id string) error
}

// Owner is the API key to which responses belong.
type Owner struct {
	Account string // the account's id
	Scope   string // the key's id
	Token   llm.Secret
}

// name is an id of the owner's as it is stored.
func (o *Owner) name(id string) string { return seal.Digest(o.Scope, id) }

// Options is what a Service is made of.
type Options struct {
	Store Store
	Now   func() time.Time
	TTL   time.Duration // how long a response is kept; 0 keeps none
}

// Service keeps responses. All its methods may be called at once.
type Service struct {
	store   Store
	now     func() time.Time
	ttl     time.Duration
	reading chan struct{}
}

// New makes a service.
func New(o Options) *Service {
	return &Service{store: o.Store, now: o.Now, ttl: o.TTL, reading: make(chan struct{}, atOnce)}
}

// begin waits for the right to read a conversation, which end gives back.
func (s *Service) begin(ctx context.Context) (end func(), err error) {
	select {
	case s.reading <- struct{}{}:
		return func() { <-s.reading }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait to read a conversation: %w", context.Cause(ctx))
	}
}

// content reads a stored response of the owner, or reports ErrNotFound.
func (s *Service) content(ctx context.Context, o *Owner, name string) (content, error) {
	sealed, err := s.store.Response(ctx, name)
	if err != nil {
		return content{}, err
	}
	return unseal(o, name, sealed)
}

// history reads a response and all before it, the oldest first. The oldest has
// a previous one where that is not there any more. Errors are ErrNotFound,
// *llm.Error for a conversation that is too long, and the store's.
func (s *Service) history(ctx context.Context, o *Owner, id string) ([]content, error) {
	links, err := s.store.ResponseChain(ctx, o.name(id), maxTurns+1)
	if err != nil {
		return nil, err
	}
	if len(links) == 0 {
		return nil, ErrNotFound
	}
	if err := checkLength(links); err != nil {
		return nil, err
	}
	list := make([]content, len(links))
	for i, l := range links {
		if list[len(links)-1-i], err = s.content(ctx, o, l.ID); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func checkLength(links []Link) error {
	var size int64
	for _, l := range links {
		size += l.Size
	}
	if len(links) <= maxTurns && size <= maxBytes {
		return nil
	}
	return llm.Invalid(previousField, fmt.Sprintf("The conversation is longer than %d responses or %d MiB. Begin a new one, with what matters of this one as its input.", maxTurns, maxBytes>>20))
}
