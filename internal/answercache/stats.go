package answercache

import "sync/atomic"

// Stats counts requests that asked for a stored answer, since the start.
type Stats struct {
	Hits     int64 // answered by a stored answer, or by that of an equal request
	Misses   int64 // sent to a provider
	Bypassed int64 // sent to a provider, because they must not have a stored answer
	Saved    int64 // nano-dollars that the answers of Hits were charged the first time
}

type counts struct{ hits, misses, bypassed, saved atomic.Int64 }

// Answered counts a request that was answered, and what its answer was charged the first time, in nano-dollars.
func (c *Cache) Answered(saved int64) {
	c.counts.hits.Add(1)
	c.counts.saved.Add(saved)
}

// Missed counts a request without an answer.
func (c *Cache) Missed() { c.counts.misses.Add(1) }

// Bypassed counts a request that must not have a stored answer.
func (c *Cache) Bypassed() { c.counts.bypassed.Add(1) }

// Stats returns the counts; zero for a nil cache.
func (c *Cache) Stats() Stats {
	if c == nil {
		return Stats{}
	}
	return Stats{
		Hits: c.counts.hits.Load(), Misses: c.counts.misses.Load(), Bypassed: c.counts.bypassed.Load(),
		Saved: c.counts.saved.Load(),
	}
}
