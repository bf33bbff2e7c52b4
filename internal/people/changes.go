package people

import (
	"sync"
	"time"
)

// Whoever is no operator may make changes at once, and more as time passes: each is a row or more
// that stays, and without a bound one person fills the disk. All people of an account have a bound
// too, for an owner makes people by invitations.
//
// Revoking keys has bounds of its own, above the keys that an account may have in use: who has made
// too many changes can still take them back.
const (
	changesOfPerson  = 200
	changesOfAccount = 400
	revokesOfPerson  = 1000
	revokesOfAccount = 2000

	personEvery  = time.Minute      // one more of a person
	accountEvery = 12 * time.Second // one more of an account

	// maxChangers is how many people and accounts are counted at once.
	maxChangers = 100_000
)

// claim is a change of somebody's allowance.
type claim struct {
	of     string // kind and id
	atOnce int
	every  time.Duration // one more
}

// changes counts what people change, by whose allowance it is. A node counts for itself, and
// forgets when it stops.
type changes struct {
	mu  sync.Mutex
	due map[string]time.Time // when all of somebody's changes are free again
}

// take counts a change on all claims, or says how long to wait before it.
func (c *changes) take(now time.Time, claims ...claim) (wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	due := make([]time.Time, len(claims))
	for i, of := range claims {
		due[i] = c.due[of.of]
		if due[i].Before(now) {
			due[i] = now
		}
		due[i] = due[i].Add(of.every)
		wait = max(wait, due[i].Sub(now)-time.Duration(of.atOnce)*of.every)
	}
	if wait > 0 {
		return wait
	}
	if c.due == nil {
		c.due = map[string]time.Time{}
	}
	if len(c.due) >= maxChangers {
		c.forget(now)
	}
	for i, of := range claims {
		c.due[of.of] = due[i]
	}
	return 0
}

// forget drops those of whom all changes are free again, or else everybody.
func (c *changes) forget(now time.Time) {
	for of, due := range c.due {
		if due.Before(now) {
			delete(c.due, of)
		}
	}
	if len(c.due) >= maxChangers {
		clear(c.due)
	}
}

// CountChange counts a change that the visitor asks for, of something of the account; none for an
// empty one. Revoking says that it takes a key away. The error is a *llm.Error with CodeRateLimited
// after too many; operators and their keys have no bound.
func (s *Service) CountChange(v *Visitor, account string, revoking bool) error {
	u := v.User()
	if u == nil || v.Operator() {
		return nil
	}
	kind, person, all := "change ", changesOfPerson, changesOfAccount
	if revoking {
		kind, person, all = "revoke ", revokesOfPerson, revokesOfAccount
	}
	claims := []claim{{kind + u.ID, person, personEvery}}
	if account != "" {
		claims = append(claims, claim{kind + account, all, accountEvery})
	}
	return s.takeChange(claims...)
}

func (s *Service) countChange(u *User) error {
	if u.Operator {
		return nil
	}
	return s.takeChange(claim{"change " + u.ID, changesOfPerson, personEvery})
}

func (s *Service) takeChange(claims ...claim) error {
	if wait := s.changes.take(s.now(), claims...); wait > 0 {
		return tooMany("You, or the people of this account, have made too many changes", wait)
	}
	return nil
}
