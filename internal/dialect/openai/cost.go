package openai

import (
	"bytes"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// ticksPerNano is the number of xAI's ticks in a nano-dollar: 10^10 ticks are a dollar.
const ticksPerNano = 10

// unbelievable replaces a reported cost that cannot be true: not a number, below 0, or more than any answer costs. The
// real cost is then unknown.
const unbelievable = llm.MaxCost + 1

// ProviderCost returns the cost that a usage object reports; nil if it reports none, and more than llm.MaxCost if it
// reports an impossible one.
//
// OpenRouter reports a number of US dollars (https://openrouter.ai/docs/cookbook/administration/usage-accounting),
// Perplexity an object (https://docs.perplexity.ai/api-reference/chat-completions-post), xAI ticks
// (https://docs.x.ai/developers/cost-tracking.md).
func ProviderCost(usage []byte) *llm.Money {
	var r reportedCost
	for m := range rawjson.Members(usage) {
		r.read(m)
	}
	return r.amount()
}

// reportedCost holds the members of a usage object that report a cost.
type reportedCost struct {
	cost, details, ticks []byte
	// own is is_byok, which reports the customer's own key: the model's vendor then has a bill of its own. A reply
	// without is_byok counts as one if its cost is below the vendor's bill, because the cost is then only a fee.
	own, says bool
}

// read reads a member of a usage object, and reports whether it is one of these.
func (r *reportedCost) read(m rawjson.Member) bool {
	switch string(m.Key()) {
	case "cost":
		r.cost = m.Value
	case "cost_details":
		r.details = m.Value
	case "cost_in_usd_ticks":
		r.ticks = m.Value
	case "is_byok":
		r.own, r.says = rawjson.AsBool(m.Value)
	default:
		return false
	}
	return true
}

// amount is the result of ProviderCost.
func (r *reportedCost) amount() *llm.Money {
	cost := r.cost
	if rawjson.Present(r.ticks) {
		return ofTicks(r.ticks)
	}
	if rawjson.KindOf(cost) == rawjson.Object {
		if c := rawjson.Get(cost, "currency"); rawjson.Present(c) && rawjson.Text(c) != "USD" {
			return nil
		}
		cost = rawjson.Get(cost, "total_cost") // Perplexity's
	}
	if !rawjson.Present(cost) {
		return nil
	}
	n, ok := dollars(cost)
	switch {
	case !ok:
		n = unbelievable
	case r.own, !r.says && isFee(n, r.details):
		all, ok := withUpstream(n, r.details)
		switch {
		case ok:
			n = all
		case n == 0: // no fee, and no reported bill
			return nil
		default:
			n = unbelievable
		}
	}
	return &n
}

// ofTicks converts xAI's ticks. Azure resells xAI's models, lets them report 0 and charges for them, so 0 counts as no
// reported cost.
func ofTicks(v []byte) *llm.Money {
	n, ok := rawjson.AsInt(v)
	if ok && n == 0 {
		return nil
	}
	cost := unbelievable
	if ok && n > 0 && n <= ticksPerNano*int64(llm.MaxCost) {
		cost = llm.Money((n + ticksPerNano/2) / ticksPerNano)
	}
	return &cost
}

// isFee reports whether a cost is below the bill of the model's vendor, and so cannot include that bill.
func isFee(cost llm.Money, details []byte) bool {
	bill, ok := dollars(rawjson.Get(details, "upstream_inference_cost"))
	return ok && bill > cost
}

// withUpstream adds the amount that the model's vendor charges to the customer's own key: the cost is then only
// OpenRouter's fee (https://openrouter.ai/docs/guides/overview/auth/byok).
func withUpstream(fee llm.Money, details []byte) (llm.Money, bool) {
	if n, ok := dollars(rawjson.Get(details, "upstream_inference_cost")); ok {
		return fee + n, true
	}
	in, hasIn := dollars(rawjson.Get(details, "upstream_inference_input_cost"))
	out, hasOut := dollars(rawjson.Get(details, "upstream_inference_output_cost"))
	return fee + in + out, hasIn && hasOut
}

// dollars reads a JSON number of US dollars, rounded half up to the nano-dollar. It reports false if the value is not a
// number, is negative or exceeds llm.MaxCost.
func dollars(v []byte) (llm.Money, bool) {
	if rawjson.KindOf(v) != rawjson.Number || v[0] == '-' {
		return 0, false
	}
	mantissa, power := v, 0
	if i := bytes.IndexAny(v, "eE"); i >= 0 {
		if i == len(v)-1 { // answers with images are not validated as JSON
			return 0, false
		}
		mantissa, power = v[:i], exponent(v[i+1:])
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	places := len(whole) + power + 9 // digits down to the nano-dollar
	var n llm.Money
	for i := range len(whole) + len(fraction) {
		digit := digitOf(whole, fraction, i)
		if i >= places {
			if i == places && digit >= 5 {
				n++
			}
			break
		}
		if n = n*10 + digit; n > llm.MaxCost {
			return 0, false
		}
	}
	for i := len(whole) + len(fraction); i < places && n > 0; i++ {
		if n *= 10; n > llm.MaxCost {
			return 0, false
		}
	}
	return n, n <= llm.MaxCost
}

func digitOf(whole, fraction []byte, i int) llm.Money {
	if i < len(whole) {
		return llm.Money(whole[i] - '0')
	}
	return llm.Money(fraction[i-len(whole)] - '0')
}

// exponent returns the power of ten of a JSON number, limited to a large one.
func exponent(v []byte) (n int) {
	const large = 1 << 30
	digits := bytes.TrimLeft(v, "+-")
	for _, c := range digits {
		n = min(n*10+int(c-'0'), large)
	}
	if v[0] == '-' {
		return -n
	}
	return n
}
