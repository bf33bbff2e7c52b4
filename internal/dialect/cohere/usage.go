package cohere

import (
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// rawUsage holds the counts of a usage object as the provider wrote it.
type rawUsage struct {
	parse.Counter
	billed, tokens     counts
	searches, thinking int64
}

// counts is a pair of totals; has reports whether either was present.
type counts struct {
	input, output int64
	image         int64 // in addition to input
	told          bool
}

// decodeUsage reads a usage object into the classes. It reports false if the value is no object, has no counts, or has
// a count that no request can have, and then returns the most that could be read, as in llm.Reply.
//
// Of the two pairs of totals the meter counts billed_units: "the tokens that you're actually billed for". The other
// pair, tokens, is the model's view, with Cohere's additions to the prompt and the special tokens that the model
// writes, for which "you are not charged" (https://docs.cohere.com/v2/docs/how-does-cohere-pricing-work). It counts
// only if a server, such as one of a private deployment, bills nothing.
//
// cached_tokens, "the number of prompt tokens that hit the inference cache", is a part of tokens.input_tokens, most of
// which may be Cohere's own addition: it often exceeds all billed input. Cohere documents no price or discount for it,
// so that it has no class: billed input counts as input, cached or not.
//
// reasoning_tokens, which the reference omits and the API sends next to tokens.output_tokens, is a part of the billed
// output.
func decodeUsage(v []byte) (u llm.Usage, most *llm.Usage, ok bool) {
	var r rawUsage
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "billed_units":
			r.read(&r.billed, m.Value)
		case "tokens":
			r.read(&r.tokens, m.Value)
		case "cached_tokens":
			r.Count(new(int64), m.Value)
		}
	}
	total := r.billed
	if !total.told {
		total = r.tokens
	}
	separate := llm.Usage{
		llm.Input: max(total.input, r.tokens.input), llm.ImageIn: total.image,
		llm.Output: max(total.output, r.tokens.output), llm.Reasoning: r.thinking, llm.Searches: r.searches,
	}
	if r.Wild || !total.told {
		return u, parse.Told(separate), false
	}
	thinking := min(r.thinking, total.output)
	u = llm.Usage{
		llm.Input: total.input, llm.Output: total.output - thinking, llm.Reasoning: thinking,
		llm.ImageIn: total.image, llm.Searches: r.searches,
	}
	return u, nil, true
}

func (r *rawUsage) read(c *counts, v []byte) {
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "input_tokens":
			c.told = r.Count(&c.input, m.Value) || c.told
		case "image_tokens":
			c.told = r.Count(&c.image, m.Value) || c.told
		case "output_tokens":
			c.told = r.Count(&c.output, m.Value) || c.told
		case "reasoning_tokens":
			r.Count(&r.thinking, m.Value)
		case "search_units":
			r.Count(&r.searches, m.Value)
		}
	}
}
