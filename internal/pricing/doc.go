// Package pricing holds models, their prices and their abilities: embedded, versioned data and the operator's
// overrides. Its llm.Price values are complete and have integer rates, so that no caller has to interpret a missing
// price. Its abilities can be unknown.
//
// Prices come from the npm package @pydantic/genai-prices, abilities and most sizes from the catalogue of models.dev.
// The scripts in gen convert both into the files under data. The hand-written data/supplement.json corrects and extends
// the prices, including whole vendors; each entry names the vendor's page that supports it. Embedded prices are
// indicative: the vendor's invoice decides, and the operator's overrides take precedence.
package pricing

//go:generate bash gen/refresh.sh
