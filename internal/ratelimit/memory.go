package ratelimit

import (
	"hash/maphash"
	"sync"
	"time"
)

const (
	shardCount = 64
	// sweepAt is how many windows a shard has before it looks for idle ones the
	// first time; after that, when it has twice as many as were left.
	sweepAt = 64
)

// memory is the windows of this node. What is in use is bounded by who came in
// the last minute; of what is idle, there is at most as much again, and some.
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

// subject is whose a window is.
type subject struct {
	rank rank
	id   string
}

func newMemory() *memory { return &memory{seed: maphash.MakeSeed()} }

func (m *memory) shard(s subject) *shard {
	return &m.shards[maphash.String(m.seed, s.id)%shardCount]
}

// find is the window of a subject, or nil.
func (m *memory) find(s subject) *window {
	if s.rank == ofInstallation {
		return &m.whole
	}
	sh := m.shard(s)
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	return sh.windows[s]
}

// lock is the window of a subject, made where there is none, and locked.
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

// open is the window of a subject, made where there is none.
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

// sweep forgets idle windows. One that somebody holds is not idle, and is not
// waited for: its holder may wait for this shard.
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

// count is how many windows there are.
func (m *memory) count() (n int) {
	for i := range m.shards {
		m.shards[i].mu.RLock()
		n += len(m.shards[i].windows)
		m.shards[i].mu.RUnlock()
	}
	return n
}
