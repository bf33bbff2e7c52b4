package answercache

import (
	"context"
	"sync"
	"time"
)

// flights are the requests that get an answer now, by its ID.
type flights struct {
	mu      sync.Mutex
	running map[ID]*flight
}

// flight is a request that gets an answer for itself and for equal ones.
type flight struct {
	done   chan struct{}
	answer *Answer // set when done is closed; nil without an answer
}

// Claim is the right of a request to store its answer. A nil one does nothing.
type Claim struct {
	cache   *Cache
	id      ID
	account string
	ttl     time.Duration
	flight  *flight // nil for a request that does not lead
}

// Ask describes a request for an answer.
type Ask struct {
	ID
	Account string        // id of the account of the request
	MaxAge  time.Duration // the most that the answer may be old, and how long a new one is stored
}

// Begin returns the answer to a request: a stored one, or that of an equal request that runs. If there is none, the
// caller gets a claim and must call Keep or Release. If the request that leads fails or takes longer than
// Policy.Wait, each of the others gets a claim. The error is that of the store, or of a context that ended. If the
// store fails, there is a claim, too.
func (c *Cache) Begin(ctx context.Context, q Ask) (*Answer, *Claim, error) {
	claim := &Claim{cache: c, id: q.ID, account: q.Account, ttl: q.MaxAge}
	leads, f := c.flights.join(q.ID)
	if leads {
		claim.flight = f
		a, err := c.find(ctx, q.ID, q.MaxAge)
		if a != nil {
			claim.end(a)
			return a, nil, nil
		}
		return nil, claim, err
	}
	late := time.NewTimer(c.Wait)
	defer late.Stop()
	select {
	case <-f.done:
		if a := f.answer; a != nil && c.Now().Sub(a.Created) < q.MaxAge {
			return a, nil, nil
		}
	case <-late.C:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	return nil, claim, nil
}

// join returns the running flight, or a new one that the caller leads.
func (f *flights) join(id ID) (leads bool, joined *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if joined = f.running[id]; joined != nil {
		return false, joined
	}
	joined = &flight{done: make(chan struct{})}
	f.running[id] = joined
	return true, joined
}

// Keep stores the answer, and passes it to the requests that wait for it. Nothing may change the body afterwards.
func (l *Claim) Keep(ctx context.Context, a *Answer) error {
	if l == nil {
		return nil
	}
	a.Created = l.cache.Now()
	err := l.cache.store(ctx, l.id, l.account, a, l.ttl)
	l.end(a) // after it is stored: a request that comes now finds it
	return err
}

// Release ends the claim without an answer. It has no effect after Keep.
func (l *Claim) Release() {
	if l != nil {
		l.end(nil)
	}
}

// end ends the flight that the claim leads.
func (l *Claim) end(a *Answer) {
	f := l.flight
	if f == nil {
		return
	}
	l.flight = nil
	l.cache.flights.mu.Lock()
	defer l.cache.flights.mu.Unlock()
	f.answer = a
	delete(l.cache.flights.running, l.id)
	close(f.done)
}
