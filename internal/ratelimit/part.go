package ratelimit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"weir/internal/account"
	"weir/internal/llm"
)

// maxNewParts is how many parts of one account or key may come in a minute that were not seen before: each takes memory.
const maxNewParts = 10_000

// ReservePart does what Reserve does for a part of an account or a key, such as an end user: by the limits of the part
// alone.
func (l *Limiter) ReservePart(ctx context.Context, r *Reservation, p *account.PartLimits, tokens int64) error {
	c := Caller{Key: p.Scope, KeyLimits: Limits(p.Limits), part: p}
	if l.memory.find(subject{ofKey, p.Scope}) == nil && !l.parts.admit(p.Owner, l.elapsed()) {
		l.refused.Add(1)
		return &llm.Error{
			Code: llm.CodeRateLimited, RetryAfter: time.Minute,
			Message: fmt.Sprintf("More than %d end users or values of tags have come within a minute. Try again in a "+
				"minute.", maxNewParts),
			Err: &Exceeded{Of: p.Of(), What: "rpm", Limit: maxNewParts},
		}
	}
	return l.reserve(ctx, r, c, [numRanks]Limits{ofKey: c.KeyLimits}, tokens)
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
