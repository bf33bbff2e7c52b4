package quote

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"weir/internal/charge"
	"weir/internal/llm"
)

// leastOutput is the shortest useful answer, in tokens, under a budget that cannot afford more.
const leastOutput = 256

// Demand is the amount that an attempt needs of a budget: a fixed part, and for each of its answers from least to
// most output tokens.
type Demand struct {
	Price      llm.Price
	Asked      string // the modes for BoundAsked of the price
	terms      *charge.Terms
	fixed      llm.Usage   // the bound of all usage except the answers
	modalities llm.Classes // as in Inputs
	answers    int64       // the number of answers, each up to the cap
	least      int64
	most       int64
	open       bool // the client set no cap: one is added by the granted amount
	// calls is the cap on calls of the provider's tools that is added by the granted amount; 0 for none. Each call
	// adds perCall to fixed, which includes all.
	calls   int64
	perCall llm.Usage
}

// Demand computes the need of an attempt at the target. It is never too low; Fine is lower than Coarse and takes
// longer.
func (q *Quote) Demand(r *Inputs, how Precision) Demand {
	b := upperBound{q, how, r}
	k := Demand{
		Price: q.Price, terms: q.Terms, Asked: q.asked(), fixed: b.rest(), modalities: r.modalities,
		answers: r.answers,
	}
	if q.chargesBySecond() { // its tokens count as input
		k.modalities = k.modalities.Without(llm.AudioIn)
	}
	if r.open.caps > 0 && k.fixed[llm.Input] < math.MaxInt64 {
		k.calls, k.perCall = r.open.each, b.call()
	}
	switch {
	case q.Op.Silent:
	case q.Op.Op != llm.OpChat:
		k.most = b.mostMade()
	case r.capped, q.Spoken.Uncapped:
		k.most = q.capped(r.limit)
	default:
		k.open, k.most = true, b.largestCap()
		k.least = min(leastOutput, k.most)
		return k
	}
	k.least = k.most
	return k
}

// mostMade returns an upper bound of the tokens of an image or a transcript, to which no cap is added: the configured
// default cap does not bound them.
func (b upperBound) mostMade() int64 {
	if most, known := b.table.MaxOutput(b.Target); known {
		return most
	}
	return max(mostMade, b.MaxOutput())
}

// largestCap returns the largest cap to add for the target: the output limit of its model, reduced to the room in the
// context window, because providers refuse a larger cap.
func (b upperBound) largestCap() int64 {
	most, window := b.table.OutputCap(b.Target), b.table.Context(b.Target)
	if window == 0 || most+b.visible(Coarse) <= window {
		return most
	}
	room := window - b.visible(Fine)
	return max(min(leastOutput, most), min(most, room))
}

// bound returns the highest usage with that many output tokens per answer and all possible tool calls.
func (k *Demand) bound(output int64) llm.Usage { return k.boundCalls(output, k.calls) }

// boundCalls returns the highest usage with that many output tokens per answer and that many tool calls.
func (k *Demand) boundCalls(output, calls int64) llm.Usage {
	u := k.fixed
	for class, n := range k.perCall {
		u[class] -= n * (k.calls - calls)
	}
	n := times(output, k.answers)
	u[llm.Output] += min(n, math.MaxInt64-u[llm.Output])
	return u
}

// Granted returns the bound of an attempt with those caps added; 0 for none.
func (k *Demand) Granted(limit, calls int64) llm.Usage {
	if !k.open {
		limit = k.most
	}
	return k.boundCalls(limit, calls)
}

// cost returns the bound as the account's charge.
func (k *Demand) cost(output, calls int64) llm.Money {
	u := k.boundCalls(output, calls)
	return k.terms.Bound(min(llm.MaxCost, k.Price.BoundAsked(&u, k.Asked)), &k.Price, &u, k.Asked)
}

// Amounts returns the amounts to reserve from a budget: the attempt must not be made with less than least, and cannot
// cost more than most. A free attempt needs nothing, unless it may be charged: then an exhausted budget refuses it.
func (k *Demand) Amounts() (least, most llm.Money) {
	least, most = k.cost(k.least, min(k.calls, 1)), k.cost(k.most, k.calls)
	if most == 0 && k.terms == nil && k.Price.MayBeCharged() {
		return 1, 1
	}
	return least, most
}

// CallsFor returns the tool calls that a granted amount affords in addition to the shortest answer; 0 if no cap is
// added.
func (k *Demand) CallsFor(amount llm.Money) int64 {
	for calls := k.calls; calls > 1; calls-- {
		if k.cost(k.least, calls) <= amount {
			return calls
		}
	}
	return min(k.calls, 1)
}

// within returns the longest answer, in tokens, that the amount affords; false if it does not afford the shortest.
func (k *Demand) within(amount llm.Money) (output int64, ok bool) {
	calls := k.CallsFor(amount)
	if k.cost(k.least, calls) > amount {
		return 0, false
	}
	lo, hi := k.least, k.most        // cost(lo) is affordable; more than hi is not requested
	if k.cost(hi, calls) <= amount { // the usual case
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

// CapFor returns the cap to add to the request for a granted amount, 0 if the client set one. It reports false if the
// amount does not suffice.
func (k *Demand) CapFor(amount llm.Money) (limit int64, ok bool) {
	limit, ok = k.within(amount)
	if !k.open {
		limit = 0
	}
	return limit, ok
}

// ErrUnpriced is the cause of a refusal, under a budget, of usage without a price. It differs from an exhausted
// budget, which is reported as an exceeded quota.
var ErrUnpriced = errors.New("quote: no price to bound the cost under a budget")

// Refusal returns the error for an attempt at the named model if its price cannot bound the cost under a budget. If
// the account's own prices bound the charge, the provider's price does not matter.
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
			"The price of the model %q is assumed, "+
				"and the configuration treats assumed prices as unknown (pricing.assumed)", name)
	case !k.Price.Known():
		why = fmt.Sprintf("The price of the model %q is unknown", name)
	case k.Price.Basis == llm.BasisFamily:
		why = fmt.Sprintf("The price of the model %q is known only from models with similar names", name)
	case unknown != 0:
		why = fmt.Sprintf("The price of the model %q for %s is unknown", name, strings.Join(unknown.Names(), ", "))
	default:
		return nil
	}
	return &llm.Error{
		Code: llm.CodeForbidden, Param: "model", Err: ErrUnpriced,
		Message: why + ", so a budget cannot bound its cost. Ask the operator to set a price in the " +
			"configuration, under prices.",
	}
}
