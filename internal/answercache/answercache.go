// Package answercache stores whole answers, encrypted, and returns them to later requests that are equal in all that
// determines the answer. Equal requests at the same time share one answer: the first one, which leads, gets it from a
// provider, and the others wait for it.
//
// Answers are stored by scope and key. A scope is an account, or all accounts that share their answers; a key is a hash
// of the request.
package answercache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ErrNotFound means that no answer is stored for a request, or that it has expired.
var ErrNotFound = errors.New("answercache: not found")

// ID names the answer to a request.
type ID struct {
	Scope string // id of an account; empty for the answers that accounts share
	Key   string // hash of the request
}

// Entry is a stored answer.
type Entry struct {
	ID
	Account string // id of the account that paid for it
	Created time.Time
	Expires time.Time
	Sealed  string
}

// Store stores answers. Its methods may be called concurrently.
type Store interface {
	// Answer returns an answer that has not expired; the error is ErrNotFound if there is none.
	Answer(ctx context.Context, id ID) (Entry, error)
	// PutAnswer stores an answer in place of the one with the same ID. It deletes the oldest answers beyond the quota.
	PutAnswer(ctx context.Context, e *Entry) error
}

// Head describes an answer.
type Head struct {
	Model   string `json:"model"`             // <provider>/<model-name> that answered
	Type    string `json:"type,omitempty"`    // content type of the body; empty for the usual one
	Dropped string `json:"dropped,omitempty"` // X-Weir-Dropped
	Finish  string `json:"finish,omitempty"`
	// Saved is the charge of the request that got the answer, in nano-dollars; nil if it was not known.
	Saved  *int64 `json:"saved,omitempty"`
	Tokens int64  `json:"tokens,omitempty"` // that it used
}

// Answer is an answer as its client received it.
type Answer struct {
	Head
	Body    []byte
	Created time.Time
}

// Options configures a Cache. All are required, except Pace.
type Options struct {
	Store Store
	// Seal encrypts a text, and Open decrypts it. about names the answer.
	Seal func(ctx context.Context, text []byte, about string) (string, error)
	Open func(sealed, about string) ([]byte, error)
	Now  func() time.Time
	Policy
}

// Policy is the part of the configuration that concerns the cache.
type Policy struct {
	Longest  time.Duration // the most that may be asked for
	Wait     time.Duration // for the answer to an equal request
	Pace     time.Duration // between the events of a stored stream; 0 for all at once
	MaxBytes int64         // of one answer
	Shared   bool          // accounts without a price list share answers
	Tools    bool          // requests with tools are answered, too
	Tokens   bool          // an answer counts the tokens that it used the first time against rate limits
}

// Cache finds and stores answers. Its methods may be called concurrently.
type Cache struct {
	Options
	flights flights
	counts  counts
}

// New returns a cache.
func New(o Options) *Cache {
	return &Cache{Options: o, flights: flights{running: map[ID]*flight{}}}
}

// about names an answer for its encryption.
func (id *ID) about() string { return "answer " + id.Scope + " " + id.Key }

// findWithin bounds the wait for the store before a request goes on without a stored answer.
const findWithin = 5 * time.Second

// find returns the stored answer. Nil means that there is none, or that it cannot be decrypted, as after the master key
// was replaced.
func (c *Cache) find(ctx context.Context, id ID, maxAge time.Duration) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, findWithin)
	defer cancel()
	e, err := c.Store.Answer(ctx, id)
	if errors.Is(err, ErrNotFound) || err == nil && c.Now().Sub(e.Created) >= maxAge {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := c.Open(e.Sealed, id.about())
	if err != nil {
		return nil, nil //nolint:nilerr // such an answer does not exist for this node, and is replaced
	}
	a := &Answer{Created: e.Created}
	if err := a.decode(text); err != nil {
		return nil, err
	}
	return a, nil
}

// encode appends the head, a line break and the body.
func (a *Answer) encode() ([]byte, error) {
	head, err := json.Marshal(&a.Head)
	if err != nil {
		return nil, err
	}
	text := make([]byte, 0, len(head)+1+len(a.Body))
	return append(append(append(text, head...), '\n'), a.Body...), nil
}

func (a *Answer) decode(text []byte) error {
	for i, b := range text {
		if b != '\n' {
			continue
		}
		a.Body = text[i+1:]
		if err := json.Unmarshal(text[:i], &a.Head); err != nil {
			return fmt.Errorf("answercache: read a stored answer: %w", err)
		}
		return nil
	}
	return errors.New("answercache: a stored answer has no head")
}

// store encrypts and stores an answer.
func (c *Cache) store(ctx context.Context, id ID, account string, a *Answer, ttl time.Duration) error {
	text, err := a.encode()
	if err != nil {
		return err
	}
	sealed, err := c.Seal(ctx, text, id.about())
	if err != nil {
		return err
	}
	return c.Store.PutAnswer(ctx, &Entry{
		ID: id, Account: account, Created: a.Created, Expires: a.Created.Add(ttl), Sealed: sealed,
	})
}
