package ledger

import (
	"math"
	"strings"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
	"weir/internal/promptcache"
)

// TestSettlementFitsIntoItsSpace checks that the space of an attempt in flight holds its largest settlement with the
// price of the model that answered, so that a full disk leaves none unwritten.
func TestSettlementFitsIntoItsSpace(t *testing.T) {
	t.Parallel()
	book := must.Get(pricing.NewBook(pricing.Overrides{}))(t)
	price := 0
	for _, vendor := range []string{"openai", "anthropic", "google", "aws", "openrouter", "mistral", "x-ai"} {
		for _, m := range book.Models(vendor, time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)) {
			price = max(price, len(appendPrice(nil, &m.Price)))
		}
	}
	s := Settlement{
		Cost: math.MaxInt64, AtMost: math.MaxInt64, Tier: strings.Repeat("t", maxTier), Margin: math.MaxInt64,
		ReplyID: strings.Repeat("r", maxReplyID), ProviderCost: new(llm.Money(math.MaxInt64)),
		Missed: Missed{promptcache.Miss{Tokens: math.MaxInt64, Message: math.MinInt64}, math.MaxInt64},
		Served: Served{Model: strings.Repeat("m", maxServed), Price: &llm.Price{Version: strings.Repeat("v", 128)}},
	}
	for class := range s.Usage {
		s.Usage[class] = math.MaxInt64
	}
	if n := len(appendSettle(nil, AttemptID{}, &s)); n > settleSpace || price > settleSpace || price == 0 {
		t.Errorf("a settlement of %d bytes and a price of %d have %d bytes of space each", n, price, settleSpace)
	}
}
