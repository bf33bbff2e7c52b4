package account_test

import (
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/charge"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
)

// TestTermsOfPriceLists checks a caller's price of a model at a time, and the refused lists.
func TestTermsOfPriceLists(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	_, token := h.key(t, account.KeyOptions{})
	now := time.Now()
	own := map[string]pricing.PriceOverride{"openai/gpt": {"input": "2"}, "house/*": {"output": "3"}}
	for _, l := range []account.PriceList{
		{Markup: 1000}, {Since: now.Add(time.Hour), Markup: 500, Prices: own}, {Since: now.Add(2 * time.Hour)},
	} {
		must.Get(h.SetPriceList(t.Context(), audit.Gateway(), "acme", l))(t)
	}
	p := must.Get(h.Authenticate(t.Context(), token))(t)
	for _, tt := range []struct {
		provider, model string
		after           time.Duration
		markup          charge.Markup
		own, none       bool
	}{
		{"openai", "gpt", -time.Hour, 0, false, true},
		{"openai", "gpt", time.Minute, 1000, false, false},
		{"openai", "gpt", 90 * time.Minute, 500, true, false},
		{"openai", "other", 90 * time.Minute, 500, false, false},
		{"house", "any/one", 90 * time.Minute, 500, true, false},
		{"openai", "gpt", 3 * time.Hour, 0, false, true},
	} {
		terms := p.Terms(tt.provider, tt.model, now.Add(tt.after))
		if (terms == nil) != tt.none || terms.Own() != tt.own || terms != nil && terms.Markup != tt.markup {
			t.Errorf("%+v: got %+v", tt, terms)
		}
	}
	for _, l := range []account.PriceList{
		{Since: now.Add(-time.Hour)},
		{Markup: charge.MaxMarkup + 1},
		{Prices: map[string]pricing.PriceOverride{"gpt": {"input": "1"}}},
		{Prices: map[string]pricing.PriceOverride{"openai/gpt": {"inputs": "1"}}},
	} {
		if _, err := h.SetPriceList(t.Context(), audit.Gateway(), "acme", l); code(err) != llm.CodeInvalidRequest {
			t.Errorf("%+v: got %v, want a refusal", l, err)
		}
	}
	var nobody *account.Principal
	if nobody.Terms("openai", "gpt", now) != nil || nobody.Charged() {
		t.Error("no account has a price list")
	}
}
