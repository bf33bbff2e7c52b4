package openai

import (
	"bytes"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// ticksPerNano is how many of xAI's ticks are a nano-dollar: 10^10 are a dollar.
const ticksPerNano = 10

// mostCost is more than an answer can cost. What a provider says beyond it is not
// believed.
const mostCost = 1_000_000 * llm.USD

// ProviderCost is what a usage object says that the answer costs; nil where it says
// nothing that can be true.
//
// OpenRouter has a number of US dollars
// (https://openrouter.ai/docs/cookbook/administration/usage-accounting), Perplexity an
// object (https://docs.perplexity.ai/api-reference/chat-completions-post), xAI ticks
// (https://docs.x.ai/developers/cost-tracking.md).
func ProviderCost(usage []byte) *llm.Money {
	var cost, details, ticks []byte
	own := false // the customer's key: the maker of the model has a bill of its own
	for m := range rawjson.Members(usage) {
		switch string(m.Key()) {
		case "cost":
			cost = m.Value
		case "cost_details":
			details = m.Value
		case "cost_in_usd_ticks":
			ticks = m.Value
		case "is_byok":
			own, _ = rawjson.AsBool(m.Value)
		}
	}
	if n, ok := rawjson.AsInt(ticks); ok {
		return ofTicks(n)
	}
	if rawjson.KindOf(cost) == rawjson.Object {
		return totalCost(cost)
	}
	n, ok := dollars(cost)
	if ok && own {
		n, ok = withUpstream(n, details)
	}
	if !ok {
		return nil
	}
	return &n
}

// ofTicks is a number of xAI's ticks. Azure sells xAI's models, has them say 0 and
// charges for them, so that 0 is no cost.
func ofTicks(n int64) *llm.Money {
	if n <= 0 || n > ticksPerNano*int64(mostCost) {
		return nil
	}
	cost := llm.Money((n + ticksPerNano/2) / ticksPerNano)
	return &cost
}

// totalCost is the total of Perplexity's object.
func totalCost(v []byte) *llm.Money {
	if c := rawjson.Get(v, "currency"); rawjson.Present(c) && rawjson.Text(c) != "USD" {
		return nil
	}
	n, ok := dollars(rawjson.Get(v, "total_cost"))
	if !ok {
		return nil
	}
	return &n
}

// withUpstream adds what the maker of a model charges the customer's own key: the cost
// is then OpenRouter's fee alone (https://openrouter.ai/docs/guides/overview/auth/byok).
func withUpstream(fee llm.Money, details []byte) (llm.Money, bool) {
	if n, ok := dollars(rawjson.Get(details, "upstream_inference_cost")); ok {
		return fee + n, true
	}
	in, hasIn := dollars(rawjson.Get(details, "upstream_inference_input_cost"))
	out, hasOut := dollars(rawjson.Get(details, "upstream_inference_output_cost"))
	return fee + in + out, hasIn && hasOut
}

// dollars reads a JSON number of US dollars, rounded half up to the nano-dollar. It
// reports false for what is no number, negative or more than mostCost.
func dollars(v []byte) (llm.Money, bool) {
	if rawjson.KindOf(v) != rawjson.Number || v[0] == '-' {
		return 0, false
	}
	mantissa, power := v, 0
	if i := bytes.IndexAny(v, "eE"); i >= 0 {
		if i == len(v)-1 { // answers with images are not checked to be JSON
			return 0, false
		}
		mantissa, power = v[:i], exponent(v[i+1:])
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	places := len(whole) + power + 9 // how many digits make the nano-dollars
	var n llm.Money
	for i := range len(whole) + len(fraction) {
		digit := digitOf(whole, fraction, i)
		if i >= places {
			if i == places && digit >= 5 {
				n++
			}
			break
		}
		if n = n*10 + digit; n > mostCost {
			return 0, false
		}
	}
	for i := len(whole) + len(fraction); i < places && n > 0; i++ {
		if n *= 10; n > mostCost {
			return 0, false
		}
	}
	return n, n <= mostCost
}

func digitOf(whole, fraction []byte, i int) llm.Money {
	if i < len(whole) {
		return llm.Money(whole[i] - '0')
	}
	return llm.Money(fraction[i-len(whole)] - '0')
}

// exponent is the power of ten of a JSON number, at most a large one.
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
