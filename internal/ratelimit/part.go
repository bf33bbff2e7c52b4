package ratelimit

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"weir/internal/account"
	"weir/internal/llm"
)

// maxNewParts is how many parts of one account or key may come in a minute that were not seen before: each takes memory.
const maxNewParts = 10_000

// Reservations are what one request has taken of the limits of its caller and of its parts, such as its end user.
// Their zero value has taken nothing.
type Reservations struct {
	Reservation // of the caller
	parts       []Reservation
}

// ReserveAll does what Reserve does for the caller and for parts of its account and its key, each by limits of its own:
// all of it or nothing. Settle has to be called on r, whatever becomes of the request.
func (l *Limiter) ReserveAll(ctx context.Context, r *Reservations, c Caller, parts []account.PartLimits, tokens int64) error {
	if len(parts) == 0 {
		return l.Reserve(ctx, &r.Reservation, c, tokens)
	}
	if err := l.Look(c, tokens); err != nil { // who asks again and again takes nothing of parts, not even for a moment
		return err
	}
	r.parts = make([]Reservation, len(parts))
	for i := range parts {
		if err := l.reservePart(ctx, &r.parts[i], &parts[i], tokens); err != nil {
			r.cancelParts()
			return err
		}
	}
	err := l.Reserve(ctx, &r.Reservation, c, tokens)
	if err != nil {
		r.cancelParts()
	}
	return err
}

func (r *Reservations) cancelParts() {
	for i := range r.parts {
		r.parts[i].cancel()
	}
}

// Settle is that of a Reservation, of all of them.
func (r *Reservations) Settle(tokens int64) {
	r.Reservation.Settle(tokens)
	for i := range r.parts {
		r.parts[i].Settle(tokens)
	}
}

// LimitsTokens reports whether some limit of tokens a minute holds for the caller or one of the parts.
func (l *Limiter) LimitsTokens(c Caller, parts []account.PartLimits) bool {
	own, _ := l.policy.Load().limits(&c)
	return slices.ContainsFunc(own[:], func(of Limits) bool { return of.TPM > 0 }) ||
		slices.ContainsFunc(parts, func(p account.PartLimits) bool { return p.Limits.TPM > 0 })
}

// reservePart does what Reserve does for a part of an account or a key by the limits of the part alone.
func (l *Limiter) reservePart(ctx context.Context, r *Reservation, p *account.PartLimits, tokens int64) error {
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
