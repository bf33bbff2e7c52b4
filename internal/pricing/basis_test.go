package pricing_test

import (
	"testing"

	"weir/internal/llm"
	"weir/internal/pricing"
)

// TestBasisSaysHowPriceWasFound checks the basis of a price: of exactly that model, from the list of a seller of the
// same model, or of models with a name like it.
func TestBasisSaysHowPriceWasFound(t *testing.T) {
	t.Parallel()
	b := newBook(t, pricing.Overrides{Prices: map[string]pricing.PriceOverride{"house/*": {"input": "1"}}})
	const unknown = llm.Basis(99) // the model has no price
	tests := []struct {
		provider, model string
		want            llm.Basis
	}{
		{"openai", "gpt-5-mini", llm.BasisModel},
		{"openai", " GPT-5-Mini ", llm.BasisModel},
		{"openai", "gpt-5-mini-2025-08-07", llm.BasisModel},
		{"openai", "gpt-5-mini-20250807", llm.BasisModel},
		{"openai", "gpt-5.6-luna-2026-07-09", llm.BasisModel},
		{"openai", "gpt-5-nano-2025-08-07", llm.BasisModel},
		{"openai", "gpt-5-nano-turbo", llm.BasisFamily},
		{"openai", "ft:gpt-4o-mini-2024-07-18:acme:triage:q1", llm.BasisModel},
		{"anthropic", "claude-opus-4-1", llm.BasisModel},
		{"anthropic", "claude-opus-4-1-20250805", llm.BasisModel},
		{"anthropic", "claude-opus-4-10", llm.BasisFamily},
		{"anthropic", "claude-sonnet-5-5", llm.BasisModel}, // the supplement has it
		{"anthropic", "claude-sonnet-5-5-20261001", llm.BasisModel},
		{"anthropic", "claude-sonnet-5-7", llm.BasisFamily},
		{"anthropic", "claude-3-5-haiku-latest", llm.BasisModel},
		{"anthropic", "claude-3-5-haiku-20241022", llm.BasisModel},
		{"gemini", "gemini-3.6-flash", llm.BasisModel},
		{"gemini", "models/gemini-2.5-flash", unknown}, // a path is not a name
		{"gemini", "gemini-3.6-flash-image", llm.BasisFamily},
		{"gemini", "gemini-2.5-pro-preview-05-06", llm.BasisFamily},
		{"vertex", "gemini-2.5-flash", llm.BasisSeller},
		{"vertex", "gemini-3.6-flash-image", llm.BasisFamily},
		{"vertex", "claude-haiku-4-5@20251001", llm.BasisSeller},
		{"vertex", "claude-opus-4-8@default", llm.BasisSeller},
		{"vertex", "gemma-3-27b-it", unknown},
		{"vertex", "gemma-4-31b-it", unknown},
		{"bedrock", "us.anthropic.claude-haiku-4-5-20251001-v1:0", llm.BasisModel},
		{"bedrock", "global.anthropic.claude-haiku-4-5-20251001-v1:0", llm.BasisModel},
		{"bedrock", "amazon.nova-lite-v1:0", llm.BasisModel},
		{"bedrock", "us.amazon.nova-lite-v1:0", llm.BasisModel},
		{"bedrock", "arn:aws:bedrock:us-east-1:1:inference-profile/us.amazon.nova-lite-v1:0", llm.BasisModel},
		{"bedrock", "amazon.titan-embed-text-v1", llm.BasisModel},
		{"bedrock", "amazon.titan-embed-text-v2:0", llm.BasisModel}, // the supplement has it
		{"bedrock", "amazon.nova-pro-max-v1:0", llm.BasisFamily},
		{"azure", "gpt-5-mini", llm.BasisSeller},
		{"azure", "gpt-5-mini-2025-08-07", llm.BasisSeller},
		{"azure", "o1", llm.BasisSeller},
		{"azure", "o4-mini-2025-04-16", llm.BasisSeller},
		{"azure", "text-embedding-3-small", llm.BasisSeller},
		{"azure", "my-deployment", unknown},
		{"azure", "content-moderation", unknown},
		{"openrouter", "openai/gpt-5-mini", llm.BasisModel},
		{"openrouter", "openai/gpt-5-mini:nitro", llm.BasisModel},
		{"xai", "grok-4.6", llm.BasisModel},
		{"mistral", "mistral-large-latest", llm.BasisModel},
		{"mistral", "mistral-large-2411", llm.BasisModel},
		{"house", "any", llm.BasisModel},
	}
	for _, tt := range tests {
		p := b.Price(tt.provider, tt.model, moment(t, now))
		got := p.Basis
		if !p.Known() {
			got = unknown
		}
		if got != tt.want {
			t.Errorf("%s/%s: got basis %d of %s, want %d", tt.provider, tt.model, got, p.Version, tt.want)
		}
	}
}

// TestUnpriceAssumed checks that only the prices of exactly the model are known if assumed prices are disabled.
func TestUnpriceAssumed(t *testing.T) {
	t.Parallel()
	all := newBook(t, pricing.Overrides{})
	b := newBook(t, pricing.Overrides{Assumed: pricing.UnpriceAssumed, Prices: map[string]pricing.PriceOverride{"azure/gpt-5-nano": {"input": "1"}}})
	for _, tt := range []struct {
		provider, model string
		known           bool
	}{
		{"openai", "gpt-5-mini", true},
		{"openai", "gpt-5-nano-turbo", false},
		{"azure", "gpt-5-mini", false},
		{"azure", "gpt-5-nano", true}, // the operator's
		{"azure", "o1", false},
	} {
		was, p := all.Price(tt.provider, tt.model, moment(t, now)), b.Price(tt.provider, tt.model, moment(t, now))
		if !was.Known() || p.Known() != tt.known || !p.Known() && p.Basis != was.Basis {
			t.Errorf("%s/%s: got known %t of basis %d, want known %t of basis %d", tt.provider, tt.model, p.Known(), p.Basis, tt.known, was.Basis)
		}
	}
}

// TestClassesWithoutRate checks that unknown is a state of its own, by class: it costs nothing here and is named.
func TestClassesWithoutRate(t *testing.T) {
	t.Parallel()
	b := newBook(t, pricing.Overrides{})
	none := llm.Classes(0)
	tests := []struct {
		provider, model string
		usage           llm.Usage
		cost            string
		unpriced        llm.Classes
	}{
		{
			"openai", "gpt-4o",
			llm.Usage{llm.Input: 1000, llm.Output: 100, llm.AudioIn: 500},
			"0.0035", none.With(llm.AudioIn),
		},
		{
			"openai", "gpt-4o",
			llm.Usage{llm.Input: 1000, llm.CacheWrite: 70, llm.Output: 100},
			"0.0035", none.With(llm.CacheWrite),
		},
		{"openai", "gpt-4o", llm.Usage{llm.Input: 1000, llm.Output: 100, llm.Requests: 1, llm.Images: 1}, "0.0035", 0},
		{"openai", "gpt-4o", llm.Usage{llm.Images: 1}, "0", none.With(llm.Images)},
		{
			"openai", "gpt-4o",
			llm.Usage{llm.Input: 1000, llm.Maps: 1, llm.OtherTools: 1},
			"0.0025",
			none.With(llm.Maps).With(llm.OtherTools),
		},
		{
			"bedrock", "us.anthropic.claude-sonnet-5-5",
			llm.Usage{llm.Input: 1000, llm.CacheWrite: 5},
			"0.0022", none.With(llm.CacheWrite),
		},
		{
			"bedrock", "global.anthropic.claude-opus-4-8-v1:0",
			llm.Usage{llm.Input: 1000, llm.CacheWrite1h: 5},
			"0.005", none.With(llm.CacheWrite1h),
		},
		{"cerebras", "gpt-oss-120b", llm.Usage{llm.CacheRead: 100}, "0", none.With(llm.CacheRead)},
		{"openai", "never-heard-of", llm.Usage{llm.Input: 1}, "0", none.With(llm.Input)},
	}
	for _, tt := range tests {
		p := b.Price(tt.provider, tt.model, moment(t, now))
		cost, missing := p.Cost(&tt.usage, ""), p.Unpriced(&tt.usage, "")
		if cost.String() != tt.cost || missing != tt.unpriced {
			t.Errorf("%s/%s for %v: got %s and %v unpriced, want %s and %v",
				tt.provider, tt.model, tt.usage, cost, missing.Names(), tt.cost, tt.unpriced.Names())
		}
	}
}
