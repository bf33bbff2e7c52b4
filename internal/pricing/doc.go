// Package pricing knows models, what they cost and what they can do: embedded,
// versioned data, and what the operator says instead. It gives llm.Price
// values, complete and with integer rates, so that nobody after it has to
// decide what an absent price means, and abilities that say so where nobody
// knows.
//
// Prices are those of the npm package @pydantic/genai-prices, abilities and
// most sizes those of the catalogue of models.dev. The scripts in gen turn both
// into the files under data. What the prices leave out or have wrong, whole vendors
// among it, is in data/supplement.json, by hand, each entry with the vendor's page that
// says so.
// They are indicative: the vendor's own word is what counts, and the operator's
// wins over it.
package pricing

//go:generate bash gen/refresh.sh
