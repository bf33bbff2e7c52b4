package ratelimit

import (
	"slices"
	"sync"
	"time"

	"weir/internal/account"
	"weir/internal/llm"
)

// maxNewParts is how many new parts of one account or key are admitted in a minute, because each takes memory. One
// key can use at most half of the remaining ones, so that some remain for other keys.
const maxNewParts = 20_000

// admitParts refuses a caller with too many new parts.
func (l *Limiter) admitParts(c *Caller) error {
	for i := range c.Parts {
		p := &c.Parts[i]
		if l.memory.find(subject{ofKey, p.Scope}) != nil {
			continue
		}
		came, admitted := l.parts.admit(p.Owner, c.Key, l.elapsed())
		if admitted {
			continue
		}
		l.refused.Add(1)
		return &llm.Error{
			Code: llm.CodeRateLimited, RetryAfter: time.Minute,
			Message: "Too many new end users or values of tags have been seen within a minute. Try again " +
				"in a minute.",
			Err: &Exceeded{Of: p.Of(), What: "rpm", Limit: came},
		}
	}
	return nil
}

// LimitsTokens reports whether the caller has a limit of tokens a minute.
func (l *Limiter) LimitsTokens(c Caller) bool {
	own, _ := l.policy.Load().limits(&c)
	return slices.ContainsFunc(own[:], func(of Limits) bool { return of.TPM > 0 }) ||
		slices.ContainsFunc(c.Parts, func(p account.PartLimits) bool { return p.Limits.TPM > 0 })
}

// newParts counts the new parts of a minute: all of an owner's, and those with one key.
type newParts struct {
	mu     sync.Mutex
	minute int64
	came   map[ownerKey]int64
}

// ownerKey is an owner of parts and a key; an empty key means all its keys.
type ownerKey struct{ owner, key string }

// admit counts a new part, unless there is no room for it. came is how many have come with the key.
func (n *newParts) admit(owner, key string, now time.Duration) (came int64, admitted bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if minute := int64(now / time.Minute); n.came == nil || minute != n.minute {
		n.minute, n.came = minute, map[ownerKey]int64{}
	}
	all, mine := ownerKey{owner: owner}, ownerKey{owner, key}
	if n.came[mine] >= maxNewParts-n.came[all] {
		return n.came[mine], false
	}
	n.came[all]++
	n.came[mine]++
	return n.came[mine], true
}
