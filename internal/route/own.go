package route

import (
	"strings"
	"time"
)

const (
	// maxAccounts bounds the accounts that have circuits of their own, and maxOwn the circuits of each.
	maxAccounts = 512
	maxOwn      = 32
)

// own returns the circuit of a target for one account, which records failures that the account's own requests may have
// caused; nil if there are none.
func (h *Health) own(account string, t *Target) *circuit {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.owned[account][targetID{t.Provider.Name(), t.Model}]
}

// makeOwn returns the same, and creates the circuit if there is none. Beyond the bounds, the new circuit is not stored.
func (h *Health) makeOwn(account string, t *Target, now time.Time) *circuit {
	if c := h.own(account, t); c != nil {
		return c
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	id := targetID{t.Provider.Name(), strings.Clone(t.Model)} // the name may be a slice of a large string
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

// forgetAccounts removes the accounts without recent failures.
func (h *Health) forgetAccounts(now time.Time) {
	for account, mine := range h.owned {
		if forget(mine, now); len(mine) == 0 {
			delete(h.owned, account)
		}
	}
}

// alone returns for each target how many accounts avoid it because of their own circuits.
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

// held are failures that do not count for all accounts because only one account has met them.
type held struct {
	account string
	fault   Fault
	row     int // since the last answer
	at      time.Time
	several bool // another account has had the same failure, so failures count for all
}

// meets records a failure that the account's own requests may have caused. It returns how many failures now count for
// all accounts: 0 until another account has had the same failure within the time of the longest circuit, and nobody got
// an answer in between.
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
