package account

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"weir/internal/llm"
)

const (
	pollEvery   = 250 * time.Millisecond
	lookupLimit = 2 * time.Second // per call of the store
	retryAfter  = time.Second     // sent to clients if the store is unavailable
)

// Service manages accounts and keys, and authenticates callers. All methods are safe for concurrent use.
type Service struct {
	*accounts
	*keys
	*Authenticator
}

// NewService returns a service. Its cache sees changes of other processes only while Watch runs.
func NewService(stores Stores, clock func() time.Time, log *slog.Logger) *Service {
	b := &base{stores: stores, clock: clock}
	a := &accounts{b}
	return &Service{a, &keys{b, a}, &Authenticator{base: b, log: log, others: newImported()}}
}

// base holds the parts that accounts, keys and authentication share.
type base struct {
	stores Stores
	clock  func() time.Time
	cache  cache
}

// now returns the time in the stored form: UTC, whole microseconds.
func (b *base) now() time.Time { return b.clock().UTC().Truncate(time.Microsecond) }

// accounts manages accounts.
type accounts struct{ *base }

// keys manages the keys of accounts.
type keys struct {
	*base
	accounts *accounts
}

// Authenticator authenticates callers by their keys, which it caches.
type Authenticator struct {
	*base
	log    *slog.Logger
	others imported
}

// Authenticate returns the caller with that token. For a malformed, unknown, revoked or expired token the error is
// always the same *llm.Error with CodeAuthentication, for a missing one another of that code; an *Inactive wraps it if
// the key was revoked or expired.
// If the key is not cached and the store is unavailable, the code is CodeOverloaded with RetryAfter. It also returns
// callers of suspended accounts; Principal refuses their requests.
func (s *Authenticator) Authenticate(ctx context.Context, token string) (*Principal, error) {
	if token == "" {
		return nil, llm.Errorf(llm.CodeAuthentication, "The request has no API key. Send a key of this gateway in a "+
			"header, \"Authorization: Bearer wk_...\", and none in the URL.")
	}
	if len(token) > MaxToken {
		return nil, unauthenticated()
	}
	hash := HashOf(token)
	p := s.cache.get(&hash)
	if p == nil {
		var err error
		if p, err = s.lookUp(ctx, token, &hash); err != nil {
			return nil, err
		}
	}
	if p.key.State(s.clock()) != KeyActive {
		return nil, inactive(p.account.ID, p.key.ID)
	}
	return p, nil
}

// AuthenticateHash returns the caller whose token has that hash, as Authenticate does.
func (s *Authenticator) AuthenticateHash(ctx context.Context, hash Hash) (*Principal, error) {
	p := s.cache.get(&hash)
	if p == nil {
		var err error
		if p, err = s.lookUp(ctx, "", &hash); err != nil {
			return nil, err
		}
	}
	if p.key.State(s.clock()) != KeyActive {
		return nil, inactive(p.account.ID, p.key.ID)
	}
	return p, nil
}

// lookUp queries the store, unless the token cannot be a key or was unknown a moment ago.
func (s *Authenticator) lookUp(ctx context.Context, token string, hash *Hash) (*Principal, error) {
	if err := s.cache.unknown(hash, s.clock()); err != nil {
		return nil, err
	}
	generation := s.cache.generation.Load()
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	mayBe, err := true, error(nil)
	if token != "" { // else only its hash is known
		mayBe, err = s.mayBeKey(ctx, token, hash)
	}
	if err == nil && !mayBe {
		return nil, unauthenticated()
	}
	var account Account
	var key Key
	if err == nil {
		account, key, err = s.stores.Lookups.KeyByHash(ctx, *hash)
	}
	switch {
	case errors.Is(err, ErrNotFound) || err == nil && key.Revoked != nil:
		failure := unauthenticated()
		if err == nil && account.Closed == nil {
			failure = inactive(account.ID, key.ID)
		}
		s.cache.putUnknown(hash, generation, s.clock(), failure)
		return nil, failure
	case err != nil:
		return nil, &llm.Error{
			Code:       llm.CodeOverloaded,
			Message:    "The API key cannot be checked right now. Try again in a second.",
			RetryAfter: retryAfter,
			Err:        fmt.Errorf("look up API key: %w", err),
		}
	}
	p := NewPrincipal(&account, &key)
	s.cache.put(hash, generation, p)
	return p, nil
}

// mayBeKey reports whether a token has the form of a key, or is a key that was imported from another gateway. A token
// with the prefix of a key but an invalid checksum is a typo and never an imported key.
func (s *Authenticator) mayBeKey(ctx context.Context, token string, hash *Hash) (bool, error) {
	if strings.HasPrefix(token, tokenPrefix) {
		return wellFormed(token), nil
	}
	return s.others.has(ctx, hash, s.stores.Lookups.Imported)
}

// Inactive is the error for a revoked or expired key. Clients see the same as for an unknown one; the ids are for
// counts.
type Inactive struct {
	Account, Key string // ids
	err          error
}

// Error implements error, without the ids.
func (i *Inactive) Error() string { return i.err.Error() }

// Unwrap returns the error for clients.
func (i *Inactive) Unwrap() error { return i.err }

// inactive returns the error for a key.
func inactive(account, key string) error { return &Inactive{account, key, unauthenticated()} }

func unauthenticated() error {
	return llm.Errorf(llm.CodeAuthentication, "The API key is not valid here: it is malformed, unknown, "+
		"revoked or expired. Send a key of this gateway in a header, \"Authorization: Bearer wk_...\". A key of a "+
		"provider is not one.")
}

// Watch follows the store's feed of changes until ctx ends, so that changes of any process take effect here within a
// second. While the store is unavailable the cache does not change. Watch calls corrected for each account whose
// attempts were corrected, with "" if that may be any account, and changed with the accounts and keys that changed.
func (s *Authenticator) Watch(ctx context.Context, corrected func(account string), changed func(ids map[string]bool)) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	place, away := int64(-1), false
	for {
		next, err := s.poll(ctx, place, corrected, changed)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !away:
			s.log.Error("account and key changes cannot be read from the database; cached keys stay valid", "err", err)
		case err == nil && away:
			s.log.Info("account and key changes are read again")
		}
		place, away = next, err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// poll drops cached entries that changed after place, and returns the place to continue from.
func (s *Authenticator) poll(ctx context.Context, place int64, corrected func(account string),
	changed func(ids map[string]bool),
) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	changes, err := s.stores.Lookups.Changes(ctx, place)
	if err != nil {
		return place, err
	}
	if changes.Lost {
		s.cache.forgetAll()
		s.others.forget()
		corrected("")
		return changes.Last, nil
	}
	ids := map[string]bool{}
	for _, c := range changes.List {
		switch c.Kind {
		case ChangedAttempt:
			corrected(c.ID)
			continue
		case ChangedImport:
			s.others.forget()
		}
		ids[c.ID] = true
	}
	if len(ids) > 0 {
		s.cache.forgetIDs(ids)
		changed(ids)
	}
	return changes.Last, nil
}
