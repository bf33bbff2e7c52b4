package ratelimit

import (
	"hash/maphash"
	"sync"
	"time"
)

const (
	shardCount = 64
	// sweepAt is how many windows a shard has when it first removes idle ones. After that, it does so at twice the
	// number that remained.
	sweepAt = 64
)

// memory holds the windows of this node. The callers of the last minute bound the windows in use; there are at most
// about as many idle ones.
type memory struct {
	seed   maphash.Seed
	shards [shardCount]shard
	whole  window // of the installation
}

type shard struct {
	mu      sync.RWMutex
	windows map[subject]*window
	sweepAt int
}

// subject identifies the owner of a window.
type subject struct {
	rank rank
	id   string
}

func newMemory() *memory { return &memory{seed: maphash.MakeSeed()} }

func (m *memory) shard(s subject) *shard {
	return &m.shards[maphash.String(m.seed, s.id)%shardCount]
}

// find returns the window of a subject, or nil.
func (m *memory) find(s subject) *window {
	if s.rank == ofInstallation {
		return &m.whole
	}
	sh := m.shard(s)
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	return sh.windows[s]
}

// lock returns the window of a subject, creating it if necessary, and locked.
func (m *memory) lock(s subject, now time.Duration) *window {
	for {
		w := m.find(s)
		if w == nil {
			w = m.shard(s).open(s, now)
		}
		w.mu.Lock()
		if !w.dead {
			w.advance(now)
			return w
		}
		w.mu.Unlock()
	}
}

// open returns the window of a subject, creating it if necessary.
func (sh *shard) open(s subject, now time.Duration) *window {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if w := sh.windows[s]; w != nil {
		return w
	}
	if sh.windows == nil {
		sh.windows, sh.sweepAt = map[subject]*window{}, sweepAt
	}
	if len(sh.windows) >= sh.sweepAt {
		sh.sweep(now)
	}
	w := &window{}
	sh.windows[s] = w
	return w
}

// sweep removes idle windows. A locked one is not idle; sweep does not wait for it, because its holder may wait for
// this shard.
func (sh *shard) sweep(now time.Duration) {
	for s, w := range sh.windows {
		if !w.mu.TryLock() {
			continue
		}
		if w.dead = w.idle(now); w.dead {
			delete(sh.windows, s)
		}
		w.mu.Unlock()
	}
	sh.sweepAt = max(sweepAt, 2*len(sh.windows))
}

// count returns how many windows there are.
func (m *memory) count() (n int) {
	for i := range m.shards {
		m.shards[i].mu.RLock()
		n += len(m.shards[i].windows)
		m.shards[i].mu.RUnlock()
	}
	return n
}
