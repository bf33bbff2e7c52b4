package route

import (
	"strings"
	"time"
)

const (
	// maxAccounts is of how many accounts circuits of their own are remembered, and
	// maxOwn how many of each.
	maxAccounts = 512
	maxOwn      = 32
)

// own is how a target has fared for one account, as far as that account's own requests may
// have brought it about: nil where nothing bad is known.
func (h *Health) own(account string, t *Target) *circuit {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.owned[account][targetID{t.Provider.Name(), t.Model}]
}

// makeOwn is own, with a new circuit where there is none. In the place of one that bounds
// leave no room for is one that nobody keeps.
func (h *Health) makeOwn(account string, t *Target, now time.Time) *circuit {
	if c := h.own(account, t); c != nil {
		return c
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	id := targetID{t.Provider.Name(), strings.Clone(t.Model)} // it may be a slice of something large
	mine := h.owned[account]
	if c := mine[id]; c != nil {
		return c
	}
	c := &circuit{used: now}
	if mine == nil {
		if len(h.owned) >= maxAccounts && now.Sub(h.forgotOwn) >= forgetEvery {
			h.forgotOwn = now
			h.forgetAccounts(now)
		}
		if len(h.owned) >= maxAccounts {
			return c
		}
		mine = map[targetID]*circuit{}
		h.owned[account] = mine
	}
	if len(mine) >= maxOwn {
		forget(mine, now)
	}
	if len(mine) < maxOwn {
		mine[id] = c
	}
	return c
}

// forgetAccounts drops the accounts of which nothing bad is known.
func (h *Health) forgetAccounts(now time.Time) {
	for account, mine := range h.owned {
		if forget(mine, now); len(mine) == 0 {
			delete(h.owned, account)
		}
	}
}

// alone is for how many accounts alone each target is passed over.
func (h *Health) alone(now time.Time) map[targetID]int {
	n := map[targetID]int{}
	for _, mine := range h.owned {
		for id, c := range mine {
			if now.Before(c.ends()) {
				n[id]++
			}
		}
	}
	return n
}

// held are failures that are held back from all because one account alone has met them.
type held struct {
	account string
	fault   Fault
	row     int // since the last answer
	at      time.Time
	several bool // another account has met the same: nothing is held back
}

// meets takes note of a failure that the account's own requests may have brought about, and
// is how many failures now count for all: none until another account has met the same
// within the time of the longest circuit, with no answer to anybody between.
func (c *circuit) meets(account string, fault Fault, now time.Time) (count int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := &c.held
	c.asked = true
	switch {
	case h.fault != fault || now.Sub(h.at) > longestOpen:
		*h = held{account: account, fault: fault, row: 1}
	case h.several:
		count = 1
	case h.account == account:
		h.row++
	default:
		h.several, count = true, h.row+1
	}
	h.at = now
	return count
}
