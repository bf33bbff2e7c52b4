package pricing_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
)

func TestOverrideIsComplete(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		price pricing.PriceOverride
		usage llm.Usage
		want  string
	}{
		{"input and output", pricing.PriceOverride{"input": "0.15", "output": "0.60"}, llm.Usage{llm.Input: 1000, llm.Output: 1000}, "0.00075"},
		{
			"every other input costs input",
			pricing.PriceOverride{"input": "1", "output": "10"},
			llm.Usage{llm.CacheRead: 1000, llm.CacheWrite: 1000, llm.CacheWrite1h: 1000, llm.AudioIn: 1000, llm.ImageIn: 1000},
			"0.005",
		},
		{"every other output costs output", pricing.PriceOverride{"input": "1", "output": "10"}, llm.Usage{llm.Reasoning: 1000, llm.AudioOut: 1000}, "0.02"},
		{"an hour's write costs a write", pricing.PriceOverride{"input": "1", "output": "10", "cache_write": "1.25"}, llm.Usage{llm.CacheWrite1h: 1000}, "0.00125"},
		{"an hour's write of its own", pricing.PriceOverride{"input": "1", "output": "10", "cache_write": "1.25", "cache_write_1h": "2"}, llm.Usage{llm.CacheWrite1h: 1000}, "0.002"},
		{"only input", pricing.PriceOverride{"input": "2"}, llm.Usage{llm.Input: 1000, llm.Output: 1000, llm.Reasoning: 1000}, "0.006"},
		{"only output", pricing.PriceOverride{"output": "2"}, llm.Usage{llm.Input: 1000, llm.Output: 1000, llm.CacheRead: 1000}, "0.006"},
		{"explicitly free output", pricing.PriceOverride{"input": "2", "output": "0"}, llm.Usage{llm.Input: 1000, llm.Output: 1000, llm.Reasoning: 1000}, "0.002"},
		{"cache read of its own", pricing.PriceOverride{"input": "2.50", "output": "10", "cache_read": "0.25"}, llm.Usage{llm.Input: 10, llm.CacheRead: 1000}, "0.000275"},
		{
			"units",
			pricing.PriceOverride{"request": "0.01", "search": "0.02", "image": "0.04", "character": "0.000015", "second": "0.0001"},
			llm.Usage{llm.Requests: 1, llm.Searches: 1, llm.Images: 1, llm.Characters: 1000, llm.Milliseconds: 1500},
			"0.08515",
		},
		{
			"media",
			pricing.PriceOverride{"input": "1", "output": "1", "audio_in": "3", "audio_out": "5", "image_in": "7", "reasoning": "11"},
			llm.Usage{llm.AudioIn: 1000, llm.AudioOut: 1000, llm.ImageIn: 1000, llm.Reasoning: 1000},
			"0.026",
		},
		{"free", pricing.PriceOverride{"input": "0", "output": "0"}, llm.Usage{llm.Input: 1000, llm.Output: 1000}, "0"},
		{"free by input alone", pricing.PriceOverride{"input": "0"}, llm.Usage{llm.Input: 1000, llm.Output: 1000}, "0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBook(t, pricing.Overrides{Prices: map[string]pricing.PriceOverride{"house/small": tt.price}})
			p := b.Price("house", "small", moment(t, now))
			if got := p.Cost(&tt.usage, "").String(); got != tt.want || !p.Known() {
				t.Errorf("%v for %v: got %s (known %v), want %s", tt.price, tt.usage, got, p.Known(), tt.want)
			}
		})
	}
}

func TestOverrideWins(t *testing.T) {
	t.Parallel()
	b := newBook(t, pricing.Overrides{
		Prices: map[string]pricing.PriceOverride{
			"openai/gpt-4o":     {"input": "7"},
			"gemini/*":          {"input": "1", "output": "2"},
			"gemini/gemini-x":   {"input": "3", "output": "4"},
			"house/org/model:1": {"input": "5"},
		},
		Sources: map[string]string{"my-openai": "openai"},
	})
	tests := []struct {
		provider, model string
		usage           llm.Usage
		want            string // empty: unpriced
		version         string // its beginning
	}{
		// It replaces the data: cached input is not at OpenAI's 1.25.
		{"openai", "gpt-4o", llm.Usage{llm.CacheRead: 1000}, "0.007", "operator/openai/gpt-4o#"},
		{"openai", "gpt-4o-mini", llm.Usage{llm.Input: 1000}, "0.00015", "genai-prices@0.1.8/openai/gpt-4o-mini#"},
		{"gemini", "gemini-2.5-pro", llm.Usage{llm.Output: 1000}, "0.002", "operator/gemini/*#"},
		{"gemini", "gemini-x", llm.Usage{llm.Output: 1000}, "0.004", "operator/gemini/gemini-x#"},
		{"gemini", strings.Repeat("x", 1000), llm.Usage{llm.Output: 1000}, "0.002", "operator/gemini/*#"},
		// The override is of the provider "gemini", not of all that sell Google's models.
		{"vertex", "gemini-2.5-pro", llm.Usage{llm.Output: 1000}, "0.01", "genai-prices@0.1.8/google/gemini-2.5-pro#"},
		{"house", "org/model:1", llm.Usage{llm.Input: 1000}, "0.005", "operator/house/org/model:1#"},
		{"my-openai", "gpt-4o", llm.Usage{llm.Input: 1000}, "0.0025", "genai-prices@0.1.8/openai/gpt-4o#"},
		{"house", "other", llm.Usage{llm.Input: 1000}, "", ""},
		{"ollama", "llama3", llm.Usage{llm.Input: 1000}, "", ""},
		{"openai", "no-such-model", llm.Usage{llm.Input: 1000}, "", ""},
		{"openai", strings.Repeat("x", 1000), llm.Usage{llm.Input: 1000}, "", ""},
		{"", "", llm.Usage{llm.Input: 1000}, "", ""},
	}
	for _, tt := range tests {
		p := b.Price(tt.provider, tt.model, moment(t, now))
		got := ""
		if p.Known() {
			got = p.Cost(&tt.usage, "").String()
		}
		if got != tt.want || !strings.HasPrefix(p.Version, tt.version) {
			t.Errorf("%s/%.40s: got %q of %q, want %q of %q…", tt.provider, tt.model, got, p.Version, tt.want, tt.version)
		}
	}
}

func TestOverrideErrors(t *testing.T) {
	t.Parallel()
	price := func(name, key, value string) pricing.Overrides {
		return pricing.Overrides{Prices: map[string]pricing.PriceOverride{name: {key: value}}}
	}
	tests := []struct {
		name string
		o    pricing.Overrides
		want []string // parts of the message
	}{
		{"misspelt class", price("house/x", "inptu", "1"), []string{"house/x", `"inptu"`, "input, output"}},
		{"the name inside", price("house/x", "millisecond", "1"), []string{`"millisecond"`, "second"}},
		{"no number", price("house/x", "input", "free"), []string{"house/x", "input", `"free"`}},
		{"exponent", price("house/x", "input", "1e-3"), []string{`"1e-3"`, "plain decimal"}},
		{"negative", price("house/x", "input", "-1"), []string{`"-1"`, "negative"}},
		{"empty", price("house/x", "input", ""), []string{`""`, "plain decimal"}},
		{"too fine", price("house/x", "input", "0.0000001"), []string{"6 decimals"}},
		{"too fine a second", price("house/x", "second", "0.0000000000001"), []string{"second", "12 decimals"}},
		{"second is no number", price("house/x", "second", "x"), []string{"second", `"x"`}},
		{"too large", price("house/x", "input", "99999999999999999999"), []string{"too large"}},
		{"cache alone", price("house/x", "cache_read", "1"), []string{"house/x", "input or output"}},
		{"nothing", pricing.Overrides{Prices: map[string]pricing.PriceOverride{"house/x": nil}}, []string{"house/x", "no price"}},
		{"no provider", price("/x", "input", "1"), []string{`"/x"`, "<provider>/<model>"}},
		{"no model", price("house", "input", "1"), []string{`"house"`, "<provider>/<model>"}},
		{"model without a provider", pricing.Overrides{Models: map[string]pricing.ModelOverride{"x": {}}}, []string{`"x"`, "<provider>/<model>"}},
		{"negative size", pricing.Overrides{Models: map[string]pricing.ModelOverride{"house/x": {Context: -1}}}, []string{"house/x", "must be 0 or a positive"}},
		{"unknown source", pricing.Overrides{Sources: map[string]string{"house": "opnai"}}, []string{"house", `"opnai"`, "openai"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := pricing.NewBook(tt.o)
			if err == nil {
				t.Fatalf("NewBook(%+v): got no error, want one with %q", tt.o, tt.want)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("NewBook(%+v): got %q, want %q in it", tt.o, err, part)
				}
			}
		})
	}
}

// TestOverrideEqualsOracle checks for any decimals and any usage that the cost is the exact one, rounded once.
func TestOverrideEqualsOracle(t *testing.T) {
	t.Parallel()
	perMillion := rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprintf("%d.%06d", rapid.IntRange(0, 5000).Draw(t, "dollars"), rapid.IntRange(0, 999_999).Draw(t, "millionths"))
	})
	classes := []llm.Class{llm.Input, llm.CacheRead, llm.CacheWrite, llm.CacheWrite1h, llm.AudioIn, llm.ImageIn, llm.Output, llm.Reasoning, llm.AudioOut}
	rapid.Check(t, func(rt *rapid.T) {
		price := pricing.PriceOverride{}
		var rates [llm.NumClasses]*big.Rat
		var usage llm.Usage
		for c := range rates {
			rates[c] = new(big.Rat)
		}
		for _, c := range classes {
			s := perMillion.Draw(rt, c.String())
			price[c.String()] = s
			rates[c].Quo(decimal(t, s), big.NewRat(1_000_000, 1))
			usage[c] = rapid.Int64Range(0, 1_000_000).Draw(rt, "count")
		}
		b := newBook(t, pricing.Overrides{Prices: map[string]pricing.PriceOverride{"house/*": price}})
		p := b.Price("house", "any", moment(t, now))
		if got, want := p.Cost(&usage, ""), exactCost(&rates, &usage); got != want {
			rt.Fatalf("%v for %v: got %s, want %s", price, usage, got, want)
		}
	})
}

// TestPriceSinceADay checks that a price of the operator's is valid from its day on, until the next one, and the data's
// before.
func TestPriceSinceADay(t *testing.T) {
	t.Parallel()
	book := must.Get(pricing.NewBook(pricing.Overrides{Prices: map[string]pricing.PriceOverride{
		"openai/gpt-5-mini since 2027-01-01": {"input": "7"}, "openai/gpt-5-mini since 2027-02-01": {"input": "8"},
		"house/*": {"input": "1"}, "house/small since 2027-01-01": {"input": "2"}, "new/x since 2027-01-01": {"input": "3"},
	}}))(t)
	for _, test := range []struct{ name, at, want string }{
		{"openai/gpt-5-mini", "2026-12-31T23:59:59Z", "0.25"},
		{"openai/gpt-5-mini", "2027-01-01T00:00:00Z", "7.00"},
		{"openai/gpt-5-mini", "2027-01-31T23:59:59Z", "7.00"},
		{"openai/gpt-5-mini", "2027-02-01T00:00:00Z", "8.00"},
		{"house/small", "2026-12-31T23:59:59Z", "1.00"},
		{"house/small", "2027-01-01T00:00:00Z", "2.00"},
		{"new/x", "2026-12-31T23:59:59Z", "unknown"},
		{"new/x", "2027-01-01T00:00:00Z", "3.00"},
		{"openai/gpt-5-mini", "2026-12-31T23:59:59Z", "0.25"},
	} {
		provider, model, _ := strings.Cut(test.name, "/")
		p := book.Price(provider, model, must.Get(time.Parse(time.RFC3339, test.at))(t))
		got := "unknown"
		if p.Rates[llm.Input].Known() {
			got = big.NewRat(p.Rates[llm.Input].Pico(), 1_000_000).FloatString(2)
		}
		if got != test.want {
			t.Errorf("%s at %s: got an input price of %s, want %s", test.name, test.at, got, test.want)
		}
	}
	for _, name := range []string{"a/b since yesterday", "a/b since 2027-13-01", "a since 2027-01-01"} {
		if _, err := pricing.NewBook(pricing.Overrides{Prices: map[string]pricing.PriceOverride{name: {"input": "1"}}}); err == nil {
			t.Errorf("a price of the name %q: got no error", name)
		}
	}
}
