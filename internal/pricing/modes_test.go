package pricing_test

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/pricing"
)

// modeUsage returns usage of every class, in a short and in a long request.
func modeUsage(input int64) (u llm.Usage) {
	for c := range u {
		u[c] = int64(7*c + 11)
	}
	u[llm.Input] = input
	return u
}

// TestEveryModeEqualsOracle compares every mode of the supplement, for each of its models, with the oracle.
func TestEveryModeEqualsOracle(t *testing.T) {
	t.Parallel()
	book, at := newBook(t, pricing.Overrides{}), moment(t, now)
	checked := 0
	for _, v := range readVendors(t) {
		for _, l := range book.Models(v.ID, at) {
			i := slices.IndexFunc(v.Models, func(m modelData) bool { return l.ID == cmp.Or(m.Name, m.ID) })
			if i < 0 || !l.Price.Known() {
				continue
			}
			m := &v.Models[i]
			for _, e := range m.extra {
				for _, input := range []int64{1_237, 300_011} {
					if e.Mode == "" {
						continue
					}
					checked++
					u := modeUsage(input)
					rates := exactRates(t, m.periodIn(e.Mode, at), inputTokens(&u))
					multiplyExactly(t, &rates, e.Times)
					if got, want := l.Price.Cost(&u, e.Mode), exactCost(&rates, &u); got != want {
						t.Errorf("%s/%s, %s: got %s, want %s", v.ID, l.ID, e.Mode, got, want)
					}
					if got, want := l.Price.Unpriced(&u, e.Mode), unpricedOf(&rates, &u); got != want {
						t.Errorf("%s/%s, %s: got %v unpriced, want %v", v.ID, l.ID, e.Mode, got.Names(), want.Names())
					}
				}
			}
		}
	}
	if checked < 200 {
		t.Errorf("modes checked: got %d, want 200 at least", checked)
	}
}

// multiplyExactly multiplies the rates of tokens, cut to whole pico-dollars.
func multiplyExactly(t testing.TB, r *[llm.NumClasses]*big.Rat, times string) {
	t.Helper()
	if times == "" {
		return
	}
	for c := range llm.NumTokens {
		if r[c] != nil {
			x := new(big.Rat).Mul(r[c], decimal(t, times))
			x.Mul(x, big.NewRat(1e12, 1))
			r[c] = new(big.Rat).SetFrac(new(big.Int).Quo(x.Num(), x.Denom()), big.NewInt(1e12))
		}
	}
}

// TestBoundCoversTheModesOfTheData checks that a request without a requested mode costs no more than the bound, however
// the vendor serves it, for the modes of the data: no model has a mode with rates of its own next to another that
// multiplies.
func TestBoundCoversTheModesOfTheData(t *testing.T) {
	t.Parallel()
	book, at := newBook(t, pricing.Overrides{}), moment(t, now)
	for _, v := range readShipped(t) {
		for _, l := range book.Models(v.ID, at) {
			for _, input := range []int64{1_000, 300_000} {
				u := llm.Usage{llm.Input: input, llm.Output: 1_000, llm.Requests: 1, llm.Searches: 1, llm.Images: 1, llm.CodeSessions: 1}
				bound := l.Price.Bound(&u)
				for _, served := range combinations(l.Price.Modes) {
					if got := l.Price.Cost(&u, served); got > bound {
						t.Errorf("%s/%s served %q: got %s, want at most the bound %s", v.ID, l.ID, served, got, bound)
					}
				}
			}
		}
	}
}

// combinations returns no mode, each mode, and each pair of modes of different kinds: "priority" and "flex" are of one
// kind, "geo:us" of another.
func combinations(modes []llm.Mode) []string {
	kind := func(m llm.Mode) string {
		if k, _, ok := strings.Cut(m.Name, ":"); ok {
			return k
		}
		return ""
	}
	all := []string{""}
	for _, m := range modes {
		all = append(all, m.Name)
		for _, n := range modes {
			if kind(m) != kind(n) {
				all = append(all, m.Name+","+n.Name)
			}
		}
	}
	return all
}

// TestModesByHand compares figures by hand from the pages of the supplement.
func TestModesByHand(t *testing.T) {
	t.Parallel()
	book := newBook(t, pricing.Overrides{})
	tests := []struct {
		provider, model, served string
		usage                   llm.Usage
		want                    string // empty: tokens have no price
	}{
		{
			"openai", "gpt-5", "priority",
			llm.Usage{llm.Input: 976, llm.CacheRead: 1024, llm.Output: 108, llm.Reasoning: 192},
			"0.008696",
		},
		{
			"openai", "gpt-5", "fast",
			llm.Usage{llm.Input: 976, llm.CacheRead: 1024, llm.Output: 108, llm.Reasoning: 192},
			"0.008696",
		},
		{"openai", "gpt-6-luna", "priority", llm.Usage{llm.Input: 1_000_000}, "0.4"},
		{"openai", "gpt-6-luna", "fast", llm.Usage{llm.Input: 1_000_000}, "0.4"},
		{"openai", "gpt-4.1", "default,search:preview", llm.Usage{llm.Input: 1000, llm.Searches: 2}, "0.052"},
		{"openai", "gpt-4.1", "priority,search:preview", llm.Usage{llm.Input: 1000, llm.Searches: 2}, "0.0535"},
		{"openai", "gpt-5", "search:preview", llm.Usage{llm.Input: 1000, llm.Searches: 2}, "0.02125"},
		{"xai", "grok-4.3", "refused:responses", llm.Usage{llm.Requests: 1}, "0.05"},
		{"openai", "gpt-5", "default", llm.Usage{llm.Input: 1000, llm.Output: 200}, "0.00325"},
		{"openai", "gpt-5", "hyper", llm.Usage{llm.Input: 1000, llm.Output: 200}, ""},
		{ // fees stay
			"openai", "gpt-5", "priority",
			llm.Usage{llm.Input: 1000, llm.Searches: 2, llm.FileSearches: 1},
			"0.025",
		},
		{"openai", "gpt-5-mini", "flex", llm.Usage{llm.Input: 976, llm.CacheRead: 1024, llm.Output: 300}, "0.0004348"},
		{"openai", "gpt-4.1", "priority", llm.Usage{llm.Input: 476, llm.CacheRead: 1024, llm.Output: 100}, "0.003962"},
		{
			"openai", "gpt-6-astra", "fast",
			llm.Usage{llm.Input: 30_000, llm.CacheRead: 200_000, llm.CacheWrite: 50_000, llm.Output: 1000},
			"4.65",
		},
		{"openai", "gpt-5.5", "flex", llm.Usage{llm.Input: 280_000, llm.Output: 1000}, "1.4225"},
		{"azure", "gpt-4.1", "default,search:preview", llm.Usage{llm.Searches: 1}, ""},
		{"azure", "gpt-4.1", "", llm.Usage{llm.Searches: 1}, ""},
		{"azure", "gpt-4.1", "priority", llm.Usage{llm.Input: 476, llm.CacheRead: 1024, llm.Output: 60}, "0.003402"},
		{"anthropic", "claude-opus-4-6", "geo:us", llm.Usage{llm.Input: 1_000_000}, "5.5"},
		{"anthropic", "claude-haiku-4-5", "geo:us", llm.Usage{llm.Input: 1_000_000}, ""}, // is refused there
		{"anthropic", "claude-opus-5", "speed:fast", llm.Usage{llm.Output: 1_000_000}, "50"},
		{
			"anthropic", "claude-opus-5", "geo:us,speed:fast",
			llm.Usage{llm.Input: 1_000_000, llm.Output: 1_000_000},
			"66",
		},
		{
			"anthropic", "claude-opus-5", "geo:not_available,speed:standard,standard",
			llm.Usage{llm.Input: 1_000_000},
			"5",
		},
		{"anthropic", "claude-opus-5", "priority", llm.Usage{llm.Input: 1_000_000}, ""}, // by contract
		{
			"anthropic", "claude-haiku-4-5", "batch",
			llm.Usage{llm.Input: 914, llm.CacheWrite1h: 4000, llm.CacheRead: 12_000, llm.Output: 388},
			"0.006027",
		},
		{"gemini", "gemini-3.5-flash", "priority", llm.Usage{llm.Input: 1_000_000, llm.Output: 1_000_000}, "18.9"},
		{"gemini", "gemini-3.1-pro-preview", "priority", llm.Usage{llm.Input: 250_000, llm.Output: 1000}, "1.8324"},
		{"gemini", "gemini-3.8-flash", "priority", llm.Usage{llm.Input: 1000}, ""},
		{"vertex", "gemini-3.1-flash-lite", "flex", llm.Usage{llm.Input: 1_000_000}, "0.125"},
		{"perplexity", "sonar-pro", "", llm.Usage{llm.Input: 1000, llm.Requests: 1}, "0.009"},
		{"perplexity", "sonar-pro", "search_context:low", llm.Usage{llm.Input: 1000, llm.Requests: 1}, "0.009"},
		{"perplexity", "sonar-pro", "search_context:medium", llm.Usage{llm.Input: 1000, llm.Requests: 1}, "0.013"},
		{"perplexity", "sonar-pro", "search_context:high", llm.Usage{llm.Input: 1000, llm.Requests: 1}, "0.017"},
		{"openai", "gpt-4.1", "", llm.Usage{llm.CodeSessions: 1}, "0.03"},
		{"openai", "gpt-4.1", "container:4g", llm.Usage{llm.CodeSessions: 1}, "0.12"},
		{"openai", "gpt-4.1", "search:preview,container:64g", llm.Usage{llm.CodeSessions: 1, llm.Searches: 1}, "1.945"},
		{"azure", "gpt-4.1", "container:4g", llm.Usage{llm.CodeSessions: 1}, "0.03"}, // one meter for all
		{"x-ai", "grok-imagine-image-quality", "image:2k:", llm.Usage{llm.Images: 3}, "0.21"},
		{"x-ai", "grok-imagine-image-2.0", "image:2k:low", llm.Usage{llm.Images: 2}, "0.12"},
		{"bedrock", "openai.gpt-oss-20b-1:0", "priority", llm.Usage{llm.Input: 1_000_000}, "0.1225"},
		{"bedrock", "us.anthropic.claude-sonnet-4-6", "reserved", llm.Usage{llm.Input: 1000}, ""},
		{"xai", "grok-4.3", "priority", llm.Usage{llm.Input: 1976, llm.CacheRead: 1024, llm.Output: 400}, "0.0073496"},
		{"groq", "llama-3.1-8b-instant", "flex", llm.Usage{llm.Input: 1000, llm.Output: 200}, "0.000066"},
		{"groq", "openai/gpt-oss-120b", "performance", llm.Usage{llm.Input: 1000}, ""},
		{
			"fireworks", "accounts/fireworks/models/kimi-k3", "priority",
			llm.Usage{llm.Input: 1_000_000, llm.CacheRead: 1_000_000},
			"4.125",
		},
	}
	for _, tt := range tests {
		p := book.Price(tt.provider, tt.model, moment(t, now))
		got := p.Cost(&tt.usage, tt.served).String()
		if p.Unpriced(&tt.usage, tt.served) != 0 {
			got = ""
		}
		if got != tt.want {
			t.Errorf("%s/%s, %q, %v: got %q, want %q", tt.provider, tt.model, tt.served, tt.usage, got, tt.want)
		}
	}
}

// TestSupplementByHand checks figures by hand of the supplement's corrections and additions.
func TestSupplementByHand(t *testing.T) {
	t.Parallel()
	book := newBook(t, pricing.Overrides{})
	tests := []struct {
		provider, model string
		usage           llm.Usage
		want            string
	}{
		{"anthropic", "claude-sonnet-5-5", llm.Usage{llm.CacheRead: 1_000_000}, "0.1"},
		{"anthropic", "claude-haiku-5-5", llm.Usage{llm.Input: 100_000, llm.Output: 1000}, "0.0105"},
		{"anthropic", "claude-haiku-5-5-20261001", llm.Usage{llm.Input: 100_001, llm.Output: 1000}, "0.0525005"},
		{"gemini", "gemini-2.5-flash", llm.Usage{llm.Searches: 1, llm.Maps: 1}, "0.06"},
		{"gemini", "gemini-3.5-flash", llm.Usage{llm.Searches: 3, llm.ImageIn: 1_000_000}, "1.542"},
		{"gemini", "gemini-3.1-flash-tts-preview", llm.Usage{llm.Input: 24, llm.AudioOut: 60}, "0.001224"},
		{"openai", "gpt-image-1", llm.Usage{llm.Input: 50, llm.ImageIn: 323, llm.ImageOut: 1056}, "0.04572"},
		{
			"openai", "gpt-4o-audio-preview",
			llm.Usage{llm.Input: 20, llm.AudioIn: 100, llm.Output: 50, llm.AudioOut: 200},
			"0.02055",
		},
		{"openai", "gpt-4.1", llm.Usage{llm.Searches: 1, llm.FileSearches: 2}, "0.015"},
		{"openai", "gpt-4.1-mini", llm.Usage{llm.Searches: 1}, "0.0132"}, // and a block of search results
		{"openai", "gpt-4o-mini", llm.Usage{llm.Searches: 1}, "0.0112"},
		{"openai", "gpt-4o-mini-search-preview", llm.Usage{llm.Input: 1000, llm.Searches: 1}, "0.02515"},
		{
			"anthropic", "claude-sonnet-4-20250514",
			llm.Usage{llm.Input: 60_000, llm.CacheRead: 150_000, llm.CacheWrite: 20_000, llm.Output: 1000},
			"0.6225",
		},
		{"gemini", "gemini-3.5-flash", llm.Usage{llm.Input: 1000, llm.Citation: 5000}, "0.0015"},
		{"fireworks", "accounts/fireworks/models/gpt-oss-120b", llm.Usage{llm.CacheRead: 1_000_000}, "0.015"},
		{"openai", "gpt-5-search-api", llm.Usage{llm.Input: 14, llm.Output: 300, llm.Searches: 1}, "0.0130175"},
		{"azure", "gpt-4.1", llm.Usage{llm.CodeSessions: 1, llm.FileSearches: 2}, "0.035"},
		{"azure", "o4-mini", llm.Usage{llm.CacheRead: 1_000_000}, "0.275"},
		{"bedrock", "us.anthropic.claude-haiku-4-5-20251001-v1:0", llm.Usage{llm.CacheWrite1h: 1_000_000}, "2.2"},
		{"bedrock", "amazon.titan-embed-text-v2:0", llm.Usage{llm.Input: 4096}, "0.00008192"},
		{"xai", "grok-4.20-multi-agent", llm.Usage{llm.Input: 250_000, llm.Output: 3000}, "0.64"},
		{
			"xai", "grok-4.3",
			llm.Usage{llm.CodeSessions: 3, llm.FileSearches: 2, llm.Searches: 2, llm.XSearches: 1},
			"0.035",
		},
		{"mistral", "mistral-large-latest", llm.Usage{llm.Input: 1200, llm.Output: 300}, "0.00105"},
		{"mistral", "mistral-large-2411", llm.Usage{llm.Input: 1000}, "0.002"},
		{"moonshot", "kimi-k3", llm.Usage{llm.CacheWrite1h: 1_000_000, llm.Searches: 1}, "6.005"},
	}
	for _, tt := range tests {
		p := book.Price(tt.provider, tt.model, moment(t, now))
		if got, missing := p.Cost(&tt.usage, "").String(), p.Unpriced(&tt.usage, ""); got != tt.want || missing != 0 {
			t.Errorf("%s/%s, %v: got %s and %v unpriced, want %s",
				tt.provider, tt.model, tt.usage, got, missing.Names(), tt.want)
		}
	}
}

// TestRegionsByHand compares prices in regions, by hand: a provider's address names the region.
func TestRegionsByHand(t *testing.T) {
	t.Parallel()
	tests := []struct {
		provider, model, region, served string
		want                            string // of a million tokens of input
		basis                           llm.Basis
	}{
		{"openai", "gpt-6-luna", "", "", "0.2", llm.BasisModel}, // of a long request
		{"openai", "gpt-6-luna", "eu", "", "0.22", llm.BasisModel},
		{"openai", "gpt-6-luna", "eu", "flex", "0.11", llm.BasisModel},
		{"openai", "gpt-5-mini", "eu", "", "0.25", llm.BasisModel},
		{"openai", "gpt-5.3", "eu", "", "1.75", llm.BasisSeller}, // which may cost more there
		{"xai", "grok-4.6", "us", "priority", "8.8", llm.BasisModel},
		{"xai", "grok-4.6", "eu-west-1", "", "4", llm.BasisSeller},
		{"bedrock", "openai.gpt-oss-20b-1:0", "us-east-1", "", "0.07", llm.BasisModel},
		{"bedrock", "openai.gpt-oss-20b-1:0", "ap-southeast-2", "", "0.0721", llm.BasisModel},
		{"bedrock", "openai.gpt-oss-20b-1:0", "ap-southeast-2", "flex", "0.03605", llm.BasisModel},
		{"bedrock", "openai.gpt-oss-20b-1:0", "ap-southeast-2", "priority", "0.126175", llm.BasisModel},
		{"bedrock", "openai.gpt-oss-20b-1:0", "eu-west-1", "", "0.07", llm.BasisSeller},
		{"bedrock", "us.anthropic.claude-haiku-4-5-20251001-v1:0", "us-west-2", "", "1.1", llm.BasisModel},
		{"bedrock", "amazon.nova-pro-v1:0", "us-west-2", "", "0.8", llm.BasisSeller},
		{"azure", "gpt-6-luna", "", "", "0.2", llm.BasisSeller},
	}
	for _, tt := range tests {
		book := newBook(t, pricing.Overrides{Regions: map[string]string{tt.provider: tt.region}})
		p := book.Price(tt.provider, tt.model, moment(t, now))
		u := llm.Usage{llm.Input: 1_000_000}
		if got := p.Cost(&u, tt.served).String(); got != tt.want || p.Basis != tt.basis || p.Unpriced(&u, tt.served) != 0 {
			t.Errorf("%s/%s in %q, %q: got %s, basis %d, %v unpriced, want %s, basis %d",
				tt.provider, tt.model, tt.region, tt.served, got, p.Basis, p.Unpriced(&u, tt.served).Names(), tt.want, tt.basis)
		}
	}
}

// TestDiscontinuedModelsAreUnpriced checks that a model that its vendor no longer has is unpriced; another seller may
// price it.
func TestDiscontinuedModelsAreUnpriced(t *testing.T) {
	t.Parallel()
	book := newBook(t, pricing.Overrides{})
	for _, tt := range []struct {
		provider, model, at string
		want                bool
	}{
		{"xai", "grok-4-0709", "2026-05-15T12:00:00Z", true},
		{"xai", "grok-4-0709", "2026-05-16T00:00:00Z", false},
		{"azure", "grok-4-0709", now, true},
		{"deepseek", "deepseek-chat", "2026-07-24T12:00:00Z", true},
		{"deepseek", "deepseek-chat", now, false},
	} {
		if p := book.Price(tt.provider, tt.model, moment(t, tt.at)); p.Known() != tt.want {
			t.Errorf("%s/%s at %s: got known %v, want %v", tt.provider, tt.model, tt.at, p.Known(), tt.want)
		}
	}
}

// TestSupplementNamesItsSource checks that a price of the supplement has the page as its source, and a version without
// the data's.
func TestSupplementNamesItsSource(t *testing.T) {
	t.Parallel()
	b := newBook(t, pricing.Overrides{})
	info, ok := b.Model("anthropic", "claude-haiku-5-5")
	p := b.Price("anthropic", "claude-haiku-5-5", moment(t, now))
	if !ok || !strings.HasPrefix(info.Source, "https://platform.claude.com/") || info.Checked != "2026-10-08" {
		t.Errorf("claude-haiku-5-5: got %+v, %v, want the page and the day it was read", info, ok)
	}
	if !strings.HasPrefix(p.Version, "supplement/anthropic/claude-haiku-5-5#") {
		t.Errorf("claude-haiku-5-5: got version %q", p.Version)
	}
}
