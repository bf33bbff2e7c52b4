package people

import (
	"sync"
	"time"
)

// Whoever is no operator may make changes at once, and one more each minute: each is a row or
// more that stays, and without a bound one person fills the disk.
const (
	changesAtOnce = 200
	changeEvery   = time.Minute
	// maxChangers is how many people are counted at once.
	maxChangers = 100_000
)

// changes counts what people change, by their id. A node counts for itself, and forgets when it
// stops.
type changes struct {
	mu  sync.Mutex
	due map[string]time.Time // when all of a person's changes are free again
}

// take counts a change, or says how long to wait before it.
func (c *changes) take(user string, now time.Time) (wait time.Duration) {
	const all = changesAtOnce * changeEvery
	c.mu.Lock()
	defer c.mu.Unlock()
	due := c.due[user]
	if due.Before(now) {
		due = now
	}
	due = due.Add(changeEvery)
	if over := due.Sub(now) - all; over > 0 {
		return over
	}
	if c.due == nil {
		c.due = map[string]time.Time{}
	}
	if len(c.due) >= maxChangers {
		c.forget(now)
	}
	c.due[user] = due
	return 0
}

// forget drops those of whom all changes are free again, or else everybody.
func (c *changes) forget(now time.Time) {
	for user, due := range c.due {
		if due.Before(now) {
			delete(c.due, user)
		}
	}
	if len(c.due) >= maxChangers {
		clear(c.due)
	}
}

// CountChange counts a change that the visitor asks for. The error is a *llm.Error with
// CodeRateLimited after too many; operators and their keys have no bound.
func (s *Service) CountChange(v *Visitor) error {
	u := v.User()
	if u == nil || v.Operator() {
		return nil
	}
	return s.countChange(u)
}

func (s *Service) countChange(u *User) error {
	if u.Operator {
		return nil
	}
	wait := s.changes.take(u.ID, s.now())
	if wait <= 0 {
		return nil
	}
	return tooMany("You have made too many changes", wait)
}
