package signin

import (
	"sync"
	"time"

	"weir/internal/people"
)

// These constants limit the changes of users who are not operators: a burst, and then one more per interval. Each
// change adds at least one row that stays, so without a limit one person could fill the disk. All users of an account
// share a limit too, because an owner can create users by invitations.
//
// Key revocations have higher limits of their own, above the number of active keys of an account, so that a user who
// has reached the limit of changes can still revoke keys.
const (
	changesOfPerson  = 200
	changesOfAccount = 400
	revokesOfPerson  = 1000
	revokesOfAccount = 2000

	personEvery  = time.Minute      // interval per further change of a person
	accountEvery = 12 * time.Second // interval per further change of an account

	// maxChangers is the maximum number of people and accounts that are counted at once.
	maxChangers = 100_000
)

// claim charges a change to one allowance.
type claim struct {
	of     string // kind and id
	atOnce int
	every  time.Duration // interval per further change
}

// ChangeLimit counts changes per allowance. Each node counts separately, and a restart resets the counts. All methods
// are safe for concurrent use.
type ChangeLimit struct {
	clock func() time.Time
	mu    sync.Mutex
	due   map[string]time.Time // when an allowance is completely free again
}

// take counts a change against all claims, or returns the time to wait.
func (c *ChangeLimit) take(claims ...claim) (wait time.Duration) {
	now := c.clock()
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

// forget drops allowances that are completely free again. If too many remain, it drops all.
func (c *ChangeLimit) forget(now time.Time) {
	for of, due := range c.due {
		if due.Before(now) {
			delete(c.due, of)
		}
	}
	if len(c.due) >= maxChangers {
		clear(c.due)
	}
}

// Count counts a change that the visitor requests in an account; an empty account means none. Revoking reports
// that it revokes a key. The error is a *llm.Error with CodeRateLimited after too many changes. Operators and their
// keys are not limited.
func (c *ChangeLimit) Count(v *people.Visitor, account string, revoking bool) error {
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
	return c.check(claims...)
}

func (c *ChangeLimit) countSignIn(u *people.User) error {
	if u.Operator {
		return nil
	}
	return c.check(claim{"change " + u.ID, changesOfPerson, personEvery})
}

func (c *ChangeLimit) check(claims ...claim) error {
	if wait := c.take(claims...); wait > 0 {
		return tooMany("You or other users of this account have made too many changes", wait)
	}
	return nil
}
