package quote

import (
	"slices"
	"strings"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// searchContext is the prefix of modes that say how much of the web a request may read.
const searchContext = "search_context:"

// hasSearchInFee reports whether the price has a fee per request that depends on how much of the web it reads, and no
// fee per search. Perplexity's prices of sonar, sonar-pro and sonar-reasoning-pro are of this kind, whose input
// tokens are only those of the prompt: "Total cost per query = Token costs + Request fee (varies by search context
// size …)" (https://docs.perplexity.ai/getting-started/pricing, undated copy).
func (o *Offer) hasSearchInFee() bool {
	return !o.Price.Rates[llm.Searches].Known() && len(sizesOf(&o.Price)) > 0
}

// isInFee reports whether the fee for the request includes the class.
func (r *Inputs) isInFee(class llm.Class) bool { return r.searchInFee && class == llm.Searches }

// searchesOnce reports whether options of a search select the default kind, which the fee covers. Pro Search makes
// the model run tools in several steps, at another fee (https://docs.perplexity.ai/guides/pro-search-quickstart,
// undated copy).
func searchesOnce(options []byte) bool {
	kind := rawjson.Get(options, "search_type")
	return !rawjson.Present(kind) || rawjson.Text(kind) == "fast"
}

// sizesOf returns the modes of a price that say how much of the web is read.
func sizesOf(price *llm.Price) (sizes []string) {
	for i := range price.Modes {
		if name := price.Modes[i].Name; strings.HasPrefix(name, searchContext) {
			sizes = append(sizes, name)
		}
	}
	return sizes
}

// boundSearchFee raises the bound of an answer whose fee depends on how much of the web it read, if its provider does
// not report that.
func (b openBound) boundSearchFee() {
	s := b.settlement
	price := &b.Attempt.Price
	if strings.Contains(b.tier, searchContext) || s.ProviderCost != nil || s.Usage[llm.Requests] == 0 {
		return
	}
	sizes := sizesOf(price)
	if len(sizes) == 0 {
		return
	}
	asked := searchContext + rawjson.Text(rawjson.Get(rawjson.Get(b.Body, "web_search_options"), "search_context_size"))
	if slices.Contains(sizes, asked) {
		sizes = []string{asked}
	}
	most := s.AtMost
	for _, size := range sizes {
		most = max(most, price.Cost(&s.Usage, strings.Trim(s.Tier+","+size, ",")))
	}
	if most > max(s.AtMost, price.Cost(&s.Usage, s.Tier)) {
		s.Provenance, s.AtMost = ledger.Estimated, most
	}
}
