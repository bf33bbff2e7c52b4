package ledger

import (
	"encoding/binary"

	"weir/internal/llm"
	"weir/internal/promptcache"
)

// Missed is input that an attempt could have read from the provider's prompt cache.
type Missed struct {
	promptcache.Miss
	// Cost is the amount by which the account's charge would have been lower if the attempt had read these tokens, by
	// its own prices; 0 if they have no rate for them.
	Cost llm.Money
}

// priceMiss fills in the cost of what was missed. The tokens were stored anew, as far as any were, else they were plain
// input.
func (a *Attempt) priceMiss(s *Settlement) {
	left := s.Missed.Tokens
	if left <= 0 {
		return
	}
	hit := s.Usage
	for _, class := range [...]llm.Class{llm.CacheWrite1h, llm.CacheWrite, llm.Input} {
		n := min(left, hit[class])
		hit[class], hit[llm.CacheRead], left = hit[class]-n, hit[llm.CacheRead]+n, left-n
	}
	s.Missed.Cost = 0
	charged, priced := a.chargeFor(&s.Usage, s.Tier)
	if lower, both := a.chargeFor(&hit, s.Tier); priced && both {
		s.Missed.Cost = min(max(0, charged-lower), llm.MaxCost)
	}
}

// chargeFor returns the account's charge for usage, by prices alone; false if a class has no rate.
func (a *Attempt) chargeFor(u *llm.Usage, tier string) (llm.Money, bool) {
	unpriced, cost := a.Price.Unpriced(u, tier), a.Price.Cost(u, tier)
	if a.Terms != nil {
		unpriced, cost = a.Terms.Unpriced(unpriced, &a.Price, u, tier), a.Terms.Charge(cost, &a.Price, u, tier)
	}
	return cost, unpriced == 0
}

// What was missed stands at the end of a settlement and is marked by a flag, as terms are.
const flagMissed = flagServedPrice << 1

func missedFlag(m *Missed) uint64 {
	if m.Tokens > 0 {
		return flagMissed
	}
	return 0
}

func appendMissed(dst []byte, m *Missed) []byte {
	if m.Tokens <= 0 {
		return dst
	}
	causes := promptcache.Causes()
	dst = append(binary.AppendVarint(dst, m.Tokens), indexOf(causes[:], m.Cause))
	return binary.AppendVarint(binary.AppendVarint(dst, int64(m.Message)), int64(m.Cost))
}

func (d *decoder) missed(flags uint64) (m Missed) {
	if flags&flagMissed == 0 {
		return m
	}
	m.Tokens = d.varint()
	causes := promptcache.Causes()
	m.Cause = pick(d, causes[:])
	m.Message, m.Cost = int(d.varint()), llm.Money(d.varint())
	return m
}
