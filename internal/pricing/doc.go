// Package pricing knows models and what they cost: embedded, versioned data
// of public prices, and what the operator says instead. It gives llm.Price
// values, complete and with integer rates, so that nobody after it has to
// decide what an absent price means.
//
// The data is that of the npm package @pydantic/genai-prices, turned into the
// files under data/ by gen/prices.mjs, which says how to refresh it. It is
// indicative: the vendor's own price list is what counts, and the operator's
// prices win over it.
package pricing

//go:generate node gen/prices.mjs $GENAI_PRICES $GENAI_PRICES_DAY
