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
	"slices"
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
	// largeRead is from how many bytes on conversations are read atOnce at a time. The
	// database has readers beside them, which are for all that is small.
	largeRead = 64 << 10
	atOnce    = 2
	// readWithin is how long the database has.
	readWithin = 5 * time.Second
	// copies is how many bytes of memory a byte takes that is read: as the database gives
	// it, and as it is then.
	copies = 2
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
	// ResponseOfItem is the newest response with an item, or ErrNotFound.
	ResponseOfItem(ctx context.Context, item string) (Link, error)
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
	TTL   func() time.Duration // how long a response is kept; 0 keeps none
}

// Service keeps responses. All its methods may be called at once.
type Service struct {
	store Store
	now   func() time.Time
	ttl   func() time.Duration
	large chan struct{} // has one for each large conversation that is read
}

// New makes a service.
func New(o Options) *Service {
	return &Service{store: o.Store, now: o.Now, ttl: o.TTL, large: make(chan struct{}, atOnce)}
}

// Capacity is what an account has of memory and processor to read what is kept.
type Capacity struct {
	// Reserve asks for n bytes more, which the request has until it ends or gives them back
	// as -n. Its error is for the client; there is none up to 0.
	Reserve func(n int64) error
	// Turn does work on so many bytes: at once where they are few, else when the account
	// has its turn. Its own error is for the client.
	Turn func(size int64, work func() error) error
}

// reading does work that reads so many bytes of what is kept, once there is capacity for them.
func (s *Service) reading(ctx context.Context, capacity *Capacity, size int64, read func(context.Context) error) error {
	if err := capacity.Reserve(copies * size); err != nil {
		return err
	}
	defer func() { _ = capacity.Reserve(-copies * size) }()
	return capacity.Turn(size, func() error {
		ctx, cancel := context.WithTimeout(ctx, readWithin)
		defer cancel()
		if size >= largeRead {
			select {
			case s.large <- struct{}{}:
				defer func() { <-s.large }()
			case <-ctx.Done():
				return fmt.Errorf("wait to read a conversation: %w", context.Cause(ctx))
			}
		}
		return read(ctx)
	})
}

// texts reads stored responses of the owner, each of them once.
type texts struct {
	service *Service
	owner   *Owner
	read    map[string]content
}

func (s *Service) texts(o *Owner) *texts {
	return &texts{service: s, owner: o, read: map[string]content{}}
}

// of is a stored response, or ErrNotFound.
func (t *texts) of(ctx context.Context, name string) (content, error) {
	if c, ok := t.read[name]; ok {
		return c, nil
	}
	sealed, err := t.service.store.Response(ctx, name)
	if err != nil {
		return content{}, err
	}
	c, err := unseal(t.owner, name, sealed)
	if err == nil {
		t.read[name] = c
	}
	return c, err
}

// history is the responses of a conversation, the oldest first.
func (t *texts) history(ctx context.Context, links []Link) ([]content, error) {
	list := make([]content, 0, len(links))
	for _, l := range slices.Backward(links) {
		c, err := t.of(ctx, l.ID)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// links are a response and all before it, the newest first. The oldest has a
// previous one where that is not there any more. Errors are ErrNotFound,
// *llm.Error for a conversation that is too long, and the store's.
func (s *Service) links(ctx context.Context, o *Owner, id string) ([]Link, error) {
	links, err := s.store.ResponseChain(ctx, o.name(id), maxTurns+1)
	if err != nil {
		return nil, err
	}
	if len(links) == 0 {
		return nil, ErrNotFound
	}
	if len(links) <= maxTurns && sizeOfAll(links) <= maxBytes {
		return links, nil
	}
	return nil, llm.Invalidf(previousField, "The conversation is longer than %d responses or %d MiB. Begin a new "+
		"one, with what matters of this one as its input.", maxTurns, maxBytes>>20)
}

func sizeOfAll(links []Link) (size int64) {
	for _, l := range links {
		size += l.Size
	}
	return size
}
