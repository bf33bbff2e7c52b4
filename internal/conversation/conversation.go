// Package conversation stores the answers to POST /v1/responses, so that later requests can continue from one
// (previous_response_id), refer to its items (item_reference), read it and delete it, independent of the provider
// that answered: https://platform.openai.com/docs/guides/conversation-state. Providers do not see this: a request
// that continues a conversation reaches them with its whole input.
//
// Stored responses belong to the API key of the request. They are encrypted with a key that only the holder of that
// API key can derive, and their ids are hashes.
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
	// maxTurns is how many responses a conversation may have.
	maxTurns = 1000
	// maxBytes bounds the stored bytes that are read for a conversation.
	maxBytes = 64 << 20
	// maxItems is how many items of one response can be referred to, and how many items one request may refer to,
	// because each needs a query.
	maxItems = 4096
	// maxInput is how many items a request's own input may have: the shortest ones need many times their size.
	maxInput = 1 << 16
	// largeRead is the size of a large conversation; at most atOnce large ones are read concurrently. So the database
	// has readers left for small ones.
	largeRead = 64 << 10
	atOnce    = 2
	// readWithin bounds the queries of a read.
	readWithin = 5 * time.Second
	// copies is how many bytes of memory a stored byte takes: encrypted from the database, and decrypted.
	copies = 2
)

// ErrNotFound means that the store does not have the response, or no longer.
var ErrNotFound = errors.New("conversation: not found")

// Record is the stored form of a response. Its ids are hashes.
type Record struct {
	Account  string // id of the account, for its quota
	Scope    string // the API key's id
	ID       string
	Previous string   // the previous response; empty for none
	Items    []string // the items that it can be found by
	Created  time.Time
	Expires  time.Time
	Sealed   []byte
}

// Link is a response's position in a conversation.
type Link struct {
	ID       string
	Previous string
	Size     int64 // encrypted bytes
}

// Store stores the responses of all nodes. It does not return expired ones.
type Store interface {
	// KeepResponse stores a response, and replaces one with the same id. If it must not be stored, the error is a
	// kept.Refusal.
	KeepResponse(ctx context.Context, r *Record) error
	// Response returns the encrypted content of a response, or ErrNotFound.
	Response(ctx context.Context, id string) ([]byte, error)
	// ResponseChain returns a response and its predecessors, newest first, up to most of them. It ends at one that
	// does not exist.
	ResponseChain(ctx context.Context, id string, most int) ([]Link, error)
	// ResponseOfItem returns the newest response with an item, or ErrNotFound.
	ResponseOfItem(ctx context.Context, item string) (Link, error)
	// DeleteResponse deletes a response, or returns ErrNotFound.
	DeleteResponse(ctx context.Context, id string) error
}

// Owner is the API key that responses belong to.
type Owner struct {
	Account string // the account's id
	Scope   string // the key's id
	Token   llm.Secret
}

// name returns the stored form of one of the owner's ids: a hash. The gateway's own ids begin with a time, and so do
// their names, so that new responses are neighbours in the database's index. Of a UUIDv7 these are the first 48 bits
// (RFC 9562, section 5.7).
func (o *Owner) name(id string) string {
	digest := o.formerName(id)
	uuid := string(ownOf(id))
	if uuid == "" {
		return digest
	}
	return uuid[:8] + uuid[9:13] + digest[:32]
}

// formerName returns the name under which versions before 2026-12 stored a response.
func (o *Owner) formerName(id string) string { return seal.Digest(o.Scope, id) }

// chain returns a response and its predecessors, newest first, up to most of them; none if it does not exist.
func (s *Service) chain(ctx context.Context, o *Owner, id string, most int) ([]Link, error) {
	links, err := s.store.ResponseChain(ctx, o.name(id), most)
	if former := o.formerName(id); err == nil && len(links) == 0 && former != o.name(id) {
		links, err = s.store.ResponseChain(ctx, former, most)
	}
	return links, err
}

// Options configures a Service.
type Options struct {
	Store Store
	Now   func() time.Time
	TTL   func() time.Duration // how long a response is stored; 0 stores none
}

// Service stores responses. Its methods may be called concurrently.
type Service struct {
	store Store
	now   func() time.Time
	ttl   func() time.Duration
	large chan struct{} // holds a value for each large conversation being read
}

// New returns a service.
func New(o Options) *Service {
	return &Service{store: o.Store, now: o.Now, ttl: o.TTL, large: make(chan struct{}, atOnce)}
}

// Capacity gives a request memory and processor time of its account to read stored responses.
type Capacity struct {
	// Reserve takes n bytes of memory until the request ends; a negative n returns them. Its error is for the client;
	// it has none if n is at most 0.
	Reserve func(n int64) error
	// Turn calls work, which processes size bytes: immediately if they are few, else in the account's turn. Its own
	// error is for the client.
	Turn func(size int64, work func() error) error
}

// reading calls read, which reads size bytes of stored responses, when there is capacity for them.
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

// of returns a stored response, or ErrNotFound.
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

// history returns the responses of a conversation, oldest first.
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

// links returns a response and all its predecessors, newest first. If the previous one of the oldest no longer
// exists, the oldest still has its id. Errors are ErrNotFound, *llm.Error for a conversation that is too long, and
// those of the store.
func (s *Service) links(ctx context.Context, o *Owner, id string) ([]Link, error) {
	links, err := s.chain(ctx, o, id, maxTurns+1)
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
