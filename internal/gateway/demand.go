package gateway

import (
	"math"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/route"
)

// leastOutput is the shortest answer, in tokens, that is worth asking for under
// a budget that does not afford more.
const leastOutput = 256

// demand is what an attempt needs of a budget: so much for certain, and for each
// of its answers from least to most tokens of output.
type demand struct {
	price      llm.Price
	asked      string      // what the request says of its units, as llm.Head.Asked
	fixed      llm.Usage   // the bound of all but the answers
	modalities llm.Classes // as in costInputs
	answers    int64       // how many there are, each of which may be as long as the cap
	least      int64
	most       int64
	open       bool // nobody gave a cap: one is to be put in, of what is granted
}

// demand finds what an attempt at the target needs. Coarse or fine, it is never
// too little; fine looks closer and takes longer.
func (c *call) demand(t *route.Target, r *costInputs, how precision) demand {
	k := demand{
		price: c.price(t), asked: c.head.Asked, fixed: c.boundBeside(t, how, r), modalities: r.modalities,
		answers: r.answers,
	}
	switch {
	case c.op.Silent:
	case c.op.Op != llm.OpChat:
		k.most = c.mostMade(t)
	case r.capped:
		k.most = c.capped(t, r.limit)
	default:
		k.open, k.most = true, c.largestCap(t, r)
		k.least = min(leastOutput, k.most)
		return k
	}
	k.least = k.most
	return k
}

// mostMade is the most tokens of an image or a transcript, which no cap is put in
// for: the configured stand-in for one bounds nothing.
func (c *call) mostMade(t *route.Target) int64 {
	if most, known := c.table.MaxOutput(t); known {
		return most
	}
	return max(mostMade, c.maxOutput(t))
}

// largestCap is the largest cap to put in for the target: what its model can write,
// and less where the input leaves less of the context window, for providers
// refuse a cap that reaches beyond it.
func (c *call) largestCap(t *route.Target, r *costInputs) int64 {
	most, window := c.table.OutputCap(t), c.table.Context(t)
	if window == 0 || most+c.boundShown(t, coarse, r) <= window {
		return most
	}
	room := window - c.boundShown(t, fine, r)
	return max(min(leastOutput, most), min(most, room))
}

// bound is what is used at most where each answer has at most so many tokens.
func (k *demand) bound(output int64) llm.Usage {
	u := k.fixed
	n := times(output, k.answers)
	u[llm.Output] += min(n, math.MaxInt64-u[llm.Output])
	return u
}

// granted is the bound of an attempt with that cap put in; 0 for none.
func (k *demand) granted(limit int64) llm.Usage {
	if k.open {
		return k.bound(limit)
	}
	return k.bound(k.most)
}

// cost is the bound in money.
func (k *demand) cost(output int64) llm.Money {
	u := k.bound(output)
	return min(ledger.MaxCost, k.price.BoundAsked(&u, k.asked))
}

// amounts are what to ask a budget for: with less than the first the attempt is
// not to be made, and more than the second it cannot cost.
func (k *demand) amounts() (least, most llm.Money) { return k.cost(k.least), k.cost(k.most) }

// within is the longest answer, in tokens, whose bound is within the amount: what
// c.cap is to be where the reservation is open. It is false where not even the shortest
// is.
func (k *demand) within(amount llm.Money) (output int64, ok bool) {
	if k.cost(k.least) > amount {
		return 0, false
	}
	lo, hi := k.least, k.most // cost(lo) is within, what is above hi is not asked for
	if k.cost(hi) <= amount { // as is usual
		return hi, true
	}
	for lo < hi {
		middle := lo + (hi-lo+1)/2
		if k.cost(middle) <= amount {
			lo = middle
		} else {
			hi = middle - 1
		}
	}
	return lo, true
}

// capFor is the cap to put into the request for an amount that was granted, 0
// where the client gave one. It is false where the amount does not suffice.
func (k *demand) capFor(amount llm.Money) (limit int64, ok bool) {
	limit, ok = k.within(amount)
	if !k.open {
		limit = 0
	}
	return limit, ok
}
