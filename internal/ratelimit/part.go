package ratelimit

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"weir/internal/account"
	"weir/internal/llm"
)

// maxNewParts is how many parts of one account or key may come in a minute that were not seen before: each takes memory.
const maxNewParts = 10_000

// admitParts refuses a caller of whom too many new parts have come.
func (l *Limiter) admitParts(c *Caller) error {
	for i := range c.Parts {
		p := &c.Parts[i]
		if l.memory.find(subject{ofKey, p.Scope}) != nil || l.parts.admit(p.Owner, l.elapsed()) {
			continue
		}
		l.refused.Add(1)
		return &llm.Error{
			Code: llm.CodeRateLimited, RetryAfter: time.Minute,
			Message: fmt.Sprintf("More than %d end users or values of tags have come within a minute. Try again in a "+
				"minute.", maxNewParts),
			Err: &Exceeded{Of: p.Of(), What: "rpm", Limit: maxNewParts},
		}
	}
	return nil
}

// LimitsTokens reports whether some limit of tokens a minute holds for the caller.
func (l *Limiter) LimitsTokens(c Caller) bool {
	own, _ := l.policy.Load().limits(&c)
	return slices.ContainsFunc(own[:], func(of Limits) bool { return of.TPM > 0 }) ||
		slices.ContainsFunc(c.Parts, func(p account.PartLimits) bool { return p.Limits.TPM > 0 })
}

// newParts counts the parts that came in a minute, by their owners.
type newParts struct {
	mu     sync.Mutex
	minute int64
	came   map[string]int
}

func (n *newParts) admit(owner string, now time.Duration) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if minute := int64(now / time.Minute); n.came == nil || minute != n.minute {
		n.minute, n.came = minute, map[string]int{}
	}
	n.came[owner]++
	return n.came[owner] <= maxNewParts
}
