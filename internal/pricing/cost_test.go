package pricing_test

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
)

func newBook(t testing.TB, o pricing.Overrides) *pricing.Book {
	t.Helper()
	b, err := pricing.NewBook(o)
	if err != nil {
		t.Fatalf("NewBook(%+v): %v", o, err)
	}
	return b
}

func moment(t testing.TB, s string) time.Time {
	t.Helper()
	at := must.Get(time.Parse(time.RFC3339, s))(t)
	return at
}

// vector holds one usage at one price. The oracle computes its cost.
type vector struct {
	provider, model string // as a caller names them
	vendor, id      string // expected in the data
	at              string
	usage           llm.Usage
}

func (v *vector) String() string {
	return fmt.Sprintf("%s/%s at %s: %v", v.provider, v.model, v.at, v.usage)
}

const now = "2026-10-15T12:00:00Z"

// subjects lists models with special prices.
var subjects = []struct {
	provider, model, vendor, id string
	edge                        int64 // an input at the end of a tier
}{
	{"openai", "gpt-4o", "openai", "gpt-4o", 0},
	{"openai", "gpt-5-mini", "openai", "gpt-5-mini", 0},
	{"openai", "gpt-5.4", "openai", "gpt-5.4", 271_999},
	{"openai", "gpt-6-sol", "openai", "gpt-6-sol", 272_000},
	{"openai", "gpt-realtime", "openai", "gpt-realtime", 0},
	{"openai", "text-embedding-3-small", "openai", "text-embedding-3-small", 0},
	{"openai", "whisper-1", "openai", "whisper-1", 0},
	{"anthropic", "claude-sonnet-4-5-20250929", "anthropic", "claude-sonnet-4-5", 200_000},
	{"anthropic", "claude-3-5-haiku-latest", "anthropic", "claude-3-5-haiku-latest", 0},
	{"gemini", "gemini-2.5-pro", "google", "gemini-2.5-pro", 200_000},
	{"gemini", "gemini-2.5-flash", "google", "gemini-2.5-flash", 0},
	{"gemini", "gemini-2.5-flash-image", "google", "gemini-2.5-flash-image", 0},
	{"xai", "grok-4.6", "x-ai", "grok-4.6", 199_999},
	{"openrouter", "x-ai/grok-4-fast", "openrouter", "x-ai/grok-4-fast", 128_000},
	{"openrouter", "google/gemini-3-flash-preview", "openrouter", "google/gemini-3-flash-preview", 0},
	{"perplexity", "sonar-pro", "perplexity", "sonar-pro", 0},
	{"perplexity", "sonar-deep-research", "perplexity", "sonar-deep-research", 0},
	{"deepseek", "deepseek-v4-pro", "deepseek", "deepseek-v4-pro", 0},
	{"groq", "whisper-large-v3", "groq", "whisper-large-v3", 0},
	{"bedrock", "us.anthropic.claude-haiku-4-5-20251001-v1:0", "aws", "regional.anthropic.claude-haiku-4-5-20251001-v1:0", 0},
	{"azure", "gpt-4o", "openai", "gpt-4o", 0},
	// Rates of parts of a nano-dollar, with which every rounding except the last shows.
	{"openrouter", "alpindale/goliath-120b", "openrouter", "alpindale/goliath-120b", 0},
	{"openrouter", "qwen/qwen3-30b-a3b-instruct-2507", "openrouter", "qwen/qwen3-30b-a3b-instruct-2507", 0},
	{"openrouter", "qwen/qwen3.6-flash", "openrouter", "qwen/qwen3.6-flash", 0},
	{"deepseek", "deepseek-v3.2", "deepseek", "deepseek-v3.2", 0},
	{"bedrock", "amazon.nova-micro-v1:0", "aws", "amazon.nova-micro-v1:0", 0},
}

// shapes lists the kinds of usage, each with odd numbers so that sums do not end on a whole nano-dollar.
var shapes = []llm.Usage{
	{llm.Input: 1, llm.Output: 1},
	{llm.Input: 1_237, llm.Output: 411, llm.Requests: 1},
	{llm.Input: 17, llm.CacheRead: 90_001, llm.Output: 333},
	{llm.Input: 11, llm.CacheWrite: 7_777, llm.CacheWrite1h: 3_331, llm.CacheRead: 101, llm.Output: 13},
	{llm.Input: 911, llm.Output: 7, llm.Reasoning: 24_593},
	{llm.Input: 3, llm.AudioIn: 5_003, llm.ImageIn: 1_291, llm.Output: 1, llm.AudioOut: 2_017},
	{llm.Input: 501, llm.Output: 203, llm.Requests: 1, llm.Searches: 3},
	{llm.Milliseconds: 61_357},
	{llm.Input: 104_729, llm.CacheRead: 7, llm.Output: 15_485, llm.Reasoning: 863},
	{llm.Input: 1, llm.CacheWrite1h: 1, llm.CacheRead: 1, llm.Reasoning: 1, llm.Output: 1},
}

func vectors() (all []vector) {
	add := func(provider, model, vendor, id, at string, u llm.Usage) {
		all = append(all, vector{provider, model, vendor, id, at, u})
	}
	for _, s := range subjects {
		for _, u := range shapes {
			add(s.provider, s.model, s.vendor, s.id, now, u)
		}
		for _, input := range []int64{127_999, 128_000, 128_001, 199_999, 200_000, 200_001, s.edge - 1, s.edge, s.edge + 1} {
			if s.edge == 0 {
				break
			}
			add(s.provider, s.model, s.vendor, s.id, now, llm.Usage{llm.Input: input, llm.Output: 101})
			add(s.provider, s.model, s.vendor, s.id, now, llm.Usage{ // cached input counts for the tier
				llm.Input: 1, llm.CacheRead: input - 3, llm.CacheWrite1h: 2, llm.Reasoning: 99, llm.Output: 1})
		}
	}
	usage := llm.Usage{llm.Input: 1_237, llm.CacheRead: 513, llm.Output: 411}
	for _, d := range []struct{ provider, model, id, at string }{
		{"openai", "o3", "o3", "2025-06-09T23:59:59Z"},
		{"openai", "o3", "o3", "2025-06-10T00:00:00Z"},
		{"openai", "gpt-5.6-sol-2026-07-09", "gpt-5.6-sol", "2026-08-20T23:59:59.999Z"},
		{"openai", "gpt-5.6-sol-2026-07-09", "gpt-5.6-sol", "2026-08-21T00:00:00Z"},
		{"openai", "gpt-5.6-sol", "gpt-5.6-sol", "2026-08-21T01:00:00+02:00"}, // still the 20th
		{"anthropic", "claude-opus-4-6", "claude-opus-4-6", "2026-03-12T12:00:00Z"},
		{"anthropic", "claude-opus-4-6", "claude-opus-4-6", "2026-03-13T00:00:00Z"},
		{"deepseek", "deepseek-reasoner", "deepseek-reasoner", "2026-01-01T00:29:59Z"},
		{"deepseek", "deepseek-reasoner", "deepseek-reasoner", "2026-01-01T00:30:00Z"},
		{"deepseek", "deepseek-reasoner", "deepseek-reasoner", "2026-01-01T16:29:59Z"},
		{"deepseek", "deepseek-reasoner", "deepseek-reasoner", "2026-01-01T16:30:00Z"},
		{"deepseek", "deepseek-v4-flash", "deepseek-v4-flash", "2026-08-16T12:00:00Z"},
		{"deepseek", "deepseek-v4-flash", "deepseek-v4-flash", "2026-08-17T00:00:00Z"},
		{"deepseek", "deepseek-v4-flash", "deepseek-v4-flash", "2026-09-01T01:00:00Z"},
		{"deepseek", "deepseek-v4-flash", "deepseek-v4-flash", "2026-09-01T04:00:00Z"},
		{"deepseek", "deepseek-v4-flash", "deepseek-v4-flash", "2026-09-01T09:59:59Z"},
		{"mistral", "mistral-medium-latest", "mistral-medium-latest", "2026-06-15T23:59:59Z"},
		{"mistral", "mistral-medium-latest", "mistral-medium-latest", "2026-06-16T00:00:00Z"},
	} {
		add(d.provider, d.model, d.provider, d.id, d.at, usage)
	}
	return all
}

func TestCostEqualsOracle(t *testing.T) {
	t.Parallel()
	book, vendors, all := newBook(t, pricing.Overrides{}), readVendors(t), vectors()
	if len(all) < 120 {
		t.Fatalf("vectors: got %d, want 120 at least", len(all))
	}
	paid, perClass, float := 0, 0, 0
	for _, v := range all {
		at := moment(t, v.at)
		price := book.Price(v.provider, v.model, at)
		m := readModel(t, vendors, v.vendor, v.id)
		m.soldBy(t, v.provider, v.vendor)
		rates := exactRates(t, m.period(at), inputTokens(&v.usage))
		got, want := price.Cost(&v.usage, ""), exactCost(&rates, &v.usage)
		if got != want || !price.Known() {
			t.Errorf("%s: got %s (%s), want %s", &v, got, price.Version, want)
		}
		if got, want := price.Unpriced(&v.usage, ""), unpricedOf(&rates, &v.usage); got != want {
			t.Errorf("%s: got %v unpriced, want %v", &v, got.Names(), want.Names())
		}
		if want > 0 {
			paid++
		}
		if perClassCost(&rates, &v.usage) != want {
			perClass++
		}
		if floatCost(&rates, &v.usage) != want {
			float++
		}
	}
	t.Logf("%d vectors, %d of them cost something; rounding by class is wrong in %d, floats in %d", len(all), paid, perClass, float)
	if paid < 120 {
		t.Errorf("vectors that cost something: got %d, want 120 at least", paid)
	}
	// The wrong methods have to fail, or these vectors would prove nothing.
	if perClass == 0 || float == 0 {
		t.Errorf("wrong ways found out: rounding by class in %d, floats in %d vectors, want some of both", perClass, float)
	}
}

// TestCostByHand checks costs that were computed by hand from the vendors' price lists, as a test of the oracle itself.
func TestCostByHand(t *testing.T) {
	t.Parallel()
	book := newBook(t, pricing.Overrides{})
	tests := []struct {
		provider, model, at string
		usage               llm.Usage
		want                string
	}{
		// 2.50 and 10 a million
		{"openai", "gpt-4o", now, llm.Usage{llm.Input: 1000, llm.Output: 100}, "0.0035"},
		// half of the input from the cache at 1.25
		{"openai", "gpt-4o", now, llm.Usage{llm.Input: 500, llm.CacheRead: 500, llm.Output: 100}, "0.002875"},
		// 3, 3.75 for five minutes, 6 for an hour, 0.30 read, 15 out
		{"anthropic", "claude-sonnet-4-5", now, llm.Usage{llm.Input: 10, llm.CacheWrite: 1000, llm.CacheWrite1h: 1000, llm.CacheRead: 10_000, llm.Output: 100}, "0.01428"},
		// 200,000 is not above 200,000; one more doubles all of it
		{"anthropic", "claude-sonnet-4-5", now, llm.Usage{llm.Input: 200_000, llm.Output: 1000}, "0.615"},
		{"anthropic", "claude-sonnet-4-5", now, llm.Usage{llm.Input: 200_001, llm.Output: 1000}, "1.222506"},
		// 10 a thousand searches
		{"anthropic", "claude-sonnet-4-5", now, llm.Usage{llm.Searches: 3}, "0.03"},
		// reasoning costs the same as output: 1.25 and 10
		{"gemini", "gemini-2.5-pro", now, llm.Usage{llm.Input: 100, llm.Output: 10, llm.Reasoning: 990}, "0.010125"},
		// 5 a thousand requests, the fee of a small search context: the default
		{"perplexity", "sonar", now, llm.Usage{llm.Input: 1, llm.Output: 1, llm.Requests: 1}, "0.005002"},
		// 0.36 an hour of sound
		{"openai", "whisper-1", now, llm.Usage{llm.Milliseconds: 60_000}, "0.006"},
		{"x-ai", "grok-voice-latest", now, llm.Usage{llm.Milliseconds: 60_000}, "0.08"},
		{"x-ai", "grok-voice-latest", now, llm.Usage{llm.Requests: 3}, "0.012"},
		// o3 fell from 10 and 40 to 2 and 8 on 10 June 2025
		{"openai", "o3", "2025-06-09T23:59:59Z", llm.Usage{llm.Input: 100, llm.Output: 100}, "0.005"},
		{"openai", "o3", "2025-06-10T00:00:00Z", llm.Usage{llm.Input: 100, llm.Output: 100}, "0.001"},
		// one token at 0.05 a million is 0.05 millionths of a dollar
		{"openai", "gpt-5-nano", now, llm.Usage{llm.Input: 1}, "0.00000005"},
		// an embedding has only input: 0.02
		{"openai", "text-embedding-3-small", now, llm.Usage{llm.Input: 1000}, "0.00002"},
	}
	for _, tt := range tests {
		p := book.Price(tt.provider, tt.model, moment(t, tt.at))
		if got := p.Cost(&tt.usage, "").String(); got != tt.want {
			t.Errorf("%s/%s at %s, %v: got %s, want %s", tt.provider, tt.model, tt.at, tt.usage, got, tt.want)
		}
	}
}

// TestEveryModelEqualsOracle compares every model of the data, now and in the past, under its listed name, with the
// oracle.
func TestEveryModelEqualsOracle(t *testing.T) {
	t.Parallel()
	book := newBook(t, pricing.Overrides{})
	all := llm.Usage{llm.Input: 1_237, llm.CacheRead: 513}
	for c := range all {
		all[c] = max(all[c], int64(2*c+1)) // something of every class
	}
	usages := []llm.Usage{all, {llm.Input: 600_011, llm.Output: 9}}
	models, unpriced := 0, 0
	for _, v := range readVendors(t) {
		for _, at := range []time.Time{moment(t, now), moment(t, "2025-01-01T02:00:00Z")} {
			listed := map[string]pricing.Listing{}
			for _, l := range book.Models(v.ID, at) {
				listed[l.ID] = l
			}
			checkUnpriced(t, v, listed)
			for _, m := range v.Models {
				models++
				l := listed[cmp.Or(m.Name, m.ID)]
				if want := m.Free || counted(m.period(at)); l.Price.Known() != want {
					t.Errorf("%s/%s: got known %v, want %v", v.ID, m.ID, l.Price.Known(), want)
				}
				if !l.Price.Known() {
					unpriced++
				}
				for _, u := range usages {
					rates := exactRates(t, m.period(at), inputTokens(&u))
					if m.Free || !l.Price.Known() {
						continue
					}
					if got, want := l.Price.Cost(&u, ""), exactCost(&rates, &u); got != want {
						t.Errorf("%s/%s at %s: got %s, want %s", v.ID, m.ID, at, got, want)
					}
					if got, want := l.Price.Unpriced(&u, ""), unpricedOf(&rates, &u); got != want {
						t.Errorf("%s/%s at %s: got %v unpriced, want %v", v.ID, m.ID, at, got.Names(), want.Names())
					}
				}
			}
		}
	}
	t.Logf("%d prices, %d of them unknown", models, unpriced)
}

// checkUnpriced checks that everything in the price data is listed, and nothing else has a price, except for models
// that a vendor sells at the price of another.
func checkUnpriced(t *testing.T, v vendorData, listed map[string]pricing.Listing) {
	t.Helper()
	names := map[string]bool{}
	for _, m := range v.Models {
		name := cmp.Or(m.Name, m.ID)
		if _, ok := listed[name]; !ok {
			t.Errorf("%s/%s: got it not listed", v.ID, name)
		}
		names[name] = true
	}
	for name, l := range listed {
		if !names[name] && l.Price.Known() && len(v.Fallback) == 0 {
			t.Errorf("%s/%s: got price %s, want none: the price data does not have it", v.ID, name, l.Price.Version)
		}
	}
}

// counted reports whether one of the counted classes has a price.
func counted(rates map[string]any) bool {
	for _, p := range payers {
		for _, key := range p.keys {
			if _, ok := rates[key]; ok {
				return true
			}
		}
	}
	return false
}
