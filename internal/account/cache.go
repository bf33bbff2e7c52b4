package account

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	shardCount = 64
	// shardKnown and shardUnknown bound the cache to about 100,000 valid keys and 16,000 unknown tokens.
	shardKnown   = 1600
	shardUnknown = 256
	// unknownFor is how long an unknown token is not looked up again.
	unknownFor = time.Second
)

// cache caches the results of token lookups, by hash.
type cache struct {
	// generation is incremented before entries are dropped. A result that was looked up in an older generation may be
	// outdated and is not cached.
	generation atomic.Uint64
	shards     [shardCount]shard
}

type shard struct {
	mu      sync.RWMutex
	known   map[Hash]*Principal
	unknown map[Hash]unknownToken
}

// unknownToken is a token that is no valid key, or was revoked.
type unknownToken struct {
	until time.Time // cached until
	err   error
}

func (c *cache) shard(h *Hash) *shard { return &c.shards[h[0]%shardCount] }

// get returns the cached key with that hash, or nil.
func (c *cache) get(h *Hash) *Principal {
	s := c.shard(h)
	s.mu.RLock()
	p := s.known[*h]
	s.mu.RUnlock()
	return p
}

// unknown returns the error for a token that is cached as unknown; nil if it is not.
func (c *cache) unknown(h *Hash, now time.Time) error {
	s := c.shard(h)
	s.mu.RLock()
	u, ok := s.unknown[*h]
	s.mu.RUnlock()
	if !ok || !now.Before(u.until) {
		return nil
	}
	return u.err
}

func (c *cache) put(h *Hash, generation uint64, p *Principal) {
	s := c.shard(h)
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.generation.Load() != generation {
		return
	}
	if s.known == nil {
		s.known = map[Hash]*Principal{}
	}
	dropOne(s.known, shardKnown)
	s.known[*h] = p
}

func (c *cache) putUnknown(h *Hash, generation uint64, now time.Time, err error) {
	s := c.shard(h)
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.generation.Load() != generation {
		return
	}
	if s.unknown == nil {
		s.unknown = map[Hash]unknownToken{}
	}
	dropOne(s.unknown, shardUnknown)
	s.unknown[*h] = unknownToken{now.Add(unknownFor), err}
}

// dropOne drops an arbitrary entry of a full map.
func dropOne[V any](m map[Hash]V, limit int) {
	if len(m) < limit {
		return
	}
	for h := range m {
		delete(m, h)
		return
	}
}

// forget drops the cached keys for which stale returns true, and all unknown tokens.
func (c *cache) forget(stale func(*Principal) bool) {
	c.generation.Add(1)
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		clear(s.unknown)
		for h, p := range s.known {
			if stale(p) {
				delete(s.known, h)
			}
		}
		s.mu.Unlock()
	}
}

// forgetIDs drops the keys with those ids and the keys of accounts with those ids.
func (c *cache) forgetIDs(ids map[string]bool) {
	c.forget(func(p *Principal) bool { return ids[p.key.ID] || ids[p.account.ID] })
}

func (c *cache) forgetAll() { c.forget(func(*Principal) bool { return true }) }
