package quote

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"weir/internal/charge"
	"weir/internal/llm"
)

// leastOutput is the shortest answer, in tokens, that is worth asking for under
// a budget that does not afford more.
const leastOutput = 256

// Demand is what an attempt needs of a budget: so much for certain, and for each
// of its answers from least to most tokens of output.
type Demand struct {
	Price      llm.Price
	Asked      string // what BoundAsked of the price is told of the request
	terms      *charge.Terms
	fixed      llm.Usage   // the bound of all but the answers
	modalities llm.Classes // as in Inputs
	answers    int64       // how many there are, each of which may be as long as the cap
	least      int64
	most       int64
	open       bool // nobody gave a cap: one is to be put in, of what is granted
	// calls is the cap that is to be put in on how often tools that the provider runs are called, of
	// what is granted; 0 where none is. Each call of it adds perCall to fixed, which has all.
	calls   int64
	perCall llm.Usage
}

// Demand finds what an attempt at the target needs. Coarse or fine, it is never
// too little; fine looks closer and takes longer.
func (q *Quote) Demand(r *Inputs, how Precision) Demand {
	k := Demand{
		Price: q.Price, terms: q.Terms, Asked: q.asked(), fixed: q.boundBeside(how, r), modalities: r.modalities,
		answers: r.answers,
	}
	if q.hearsBySecond() { // its tokens are of the input
		k.modalities = k.modalities.Without(llm.AudioIn)
	}
	if r.open.caps > 0 && k.fixed[llm.Input] < math.MaxInt64 {
		k.calls, k.perCall = r.open.each, q.boundCall(how, r)
	}
	switch {
	case q.Op.Silent:
	case q.Op.Op != llm.OpChat:
		k.most = q.mostMade()
	case r.capped, q.Spoken.Uncapped:
		k.most = q.capped(r.limit)
	default:
		k.open, k.most = true, q.largestCap(r)
		k.least = min(leastOutput, k.most)
		return k
	}
	k.least = k.most
	return k
}

// mostMade is the most tokens of an image or a transcript, which no cap is put in
// for: the configured stand-in for one bounds nothing.
func (q *Quote) mostMade() int64 {
	if most, known := q.table.MaxOutput(q.Target); known {
		return most
	}
	return max(mostMade, q.MaxOutput())
}

// largestCap is the largest cap to put in for the target: what its model can write,
// and less where the input leaves less of the context window, for providers
// refuse a cap that reaches beyond it.
func (q *Quote) largestCap(r *Inputs) int64 {
	most, window := q.table.OutputCap(q.Target), q.table.Context(q.Target)
	if window == 0 || most+q.boundShown(Coarse, r) <= window {
		return most
	}
	room := window - q.boundShown(Fine, r)
	return max(min(leastOutput, most), min(most, room))
}

// bound is what is used at most where each answer has at most so many tokens, and tools are called as often as they
// may.
func (k *Demand) bound(output int64) llm.Usage { return k.boundCalls(output, k.calls) }

// boundCalls is bound where tools are called so often.
func (k *Demand) boundCalls(output, calls int64) llm.Usage {
	u := k.fixed
	for class, n := range k.perCall {
		u[class] -= n * (k.calls - calls)
	}
	n := times(output, k.answers)
	u[llm.Output] += min(n, math.MaxInt64-u[llm.Output])
	return u
}

// Granted is the bound of an attempt with those caps put in; 0 for none.
func (k *Demand) Granted(limit, calls int64) llm.Usage {
	if !k.open {
		limit = k.most
	}
	return k.boundCalls(limit, calls)
}

// cost is the bound in money, as the account is charged for it.
func (k *Demand) cost(output, calls int64) llm.Money {
	u := k.boundCalls(output, calls)
	return k.terms.Bound(min(llm.MaxCost, k.Price.BoundAsked(&u, k.Asked)), &k.Price, &u, k.Asked)
}

// Amounts are what to ask a budget for: with less than the first the attempt is
// not to be made, and more than the second it cannot cost. What is free needs none, unless it may be charged for: a budget
// that is spent refuses it then.
func (k *Demand) Amounts() (least, most llm.Money) {
	least, most = k.cost(k.least, min(k.calls, 1)), k.cost(k.most, k.calls)
	if most == 0 && k.terms == nil && k.Price.MayBeCharged() {
		return 1, 1
	}
	return least, most
}

// CallsFor is how often tools may be called for an amount that was granted: as often as it affords beside the shortest
// answer. It is 0 where no cap on that is to be put in.
func (k *Demand) CallsFor(amount llm.Money) int64 {
	for calls := k.calls; calls > 1; calls-- {
		if k.cost(k.least, calls) <= amount {
			return calls
		}
	}
	return min(k.calls, 1)
}

// within is the longest answer, in tokens, whose bound is within the amount: what
// c.cap is to be where the reservation is open. It is false where not even the shortest
// is.
func (k *Demand) within(amount llm.Money) (output int64, ok bool) {
	calls := k.CallsFor(amount)
	if k.cost(k.least, calls) > amount {
		return 0, false
	}
	lo, hi := k.least, k.most        // cost(lo) is within, what is above hi is not asked for
	if k.cost(hi, calls) <= amount { // as is usual
		return hi, true
	}
	for lo < hi {
		middle := lo + (hi-lo+1)/2
		if k.cost(middle, calls) <= amount {
			lo = middle
		} else {
			hi = middle - 1
		}
	}
	return lo, true
}

// CapFor is the cap to put into the request for an amount that was granted, 0
// where the client gave one. It is false where the amount does not suffice.
func (k *Demand) CapFor(amount llm.Money) (limit int64, ok bool) {
	limit, ok = k.within(amount)
	if !k.open {
		limit = 0
	}
	return limit, ok
}

// ErrUnpriced is the cause of a refusal under a budget of something that has no price here. It is no budget without room:
// that one is told as a quota that is used up.
var ErrUnpriced = errors.New("quote: no price that a budget can be kept with")

// Refusal is the error for an attempt at the model of that full name with whose price no budget can be kept. Where a price of
// the account's own bounds the charge alone, that of the provider's does not matter.
func (k *Demand) Refusal(name string) error {
	u := k.bound(k.most)
	if k.terms.Own() && k.terms.Unbounded(&llm.Price{}, &u, k.Asked, k.modalities) == 0 {
		return nil
	}
	unknown := k.terms.Unbounded(&k.Price, &u, k.Asked, k.modalities)
	why := ""
	switch {
	case !k.Price.Known() && k.Price.Basis != llm.BasisModel:
		why = fmt.Sprintf(
			"The price of the model %q is assumed, which the configuration takes for unknown (pricing.assumed)", name)
	case !k.Price.Known():
		why = fmt.Sprintf("The model %q has no price here", name)
	case k.Price.Basis == llm.BasisFamily:
		why = fmt.Sprintf("The price of the model %q is known for models with a name like it alone", name)
	case unknown != 0:
		why = fmt.Sprintf("What the model %q costs for %s is not known here", name, strings.Join(unknown.Names(), ", "))
	default:
		return nil
	}
	return &llm.Error{
		Code: llm.CodeForbidden, Param: "model", Err: ErrUnpriced,
		Message: why + ", so that no budget can be kept with it. Its operator can give it a price in the " +
			"configuration, under prices.",
	}
}
