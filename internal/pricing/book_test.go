package pricing_test

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
)

func TestSourceName(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"@pydantic/genai-prices 0.1.8": "genai-prices 0.1.8", "operator": "operator", "contract/2026": "contract/2026", "": "",
		"https://acme.example/pricing": "acme.example", "https://acme.example": "acme.example", "http://a.example:8080/p?q=/x": "a.example:8080",
	} {
		if got := pricing.SourceName(source); got != want {
			t.Errorf("SourceName(%q): got %q, want %q", source, got, want)
		}
	}
}

func TestNamesFindModels(t *testing.T) {
	t.Parallel()
	b := newBook(t, pricing.Overrides{})
	tests := []struct{ provider, model, want string }{ // want: vendor and id in the data; empty for none
		{"openai", "gpt-4o", "openai/gpt-4o"},
		{"openai", "gpt-4o-2024-11-20", "openai/gpt-4o"},
		{"openai", "gpt-5-20250807", "openai/gpt-5"}, // the data has the date with dashes
		{"openai", "gpt-5-20251399", ""},             // not a date
		{"openai", " GPT-4o ", "openai/gpt-4o"},
		{"openai", "gpt-5.6-luna-2026-07-09", "openai/gpt-5.6-luna"}, // a regular expression
		{"openai", "gpt-5.6-luna-2026-07", ""},
		{"openai", "gpt-nonsense", ""},
		{"anthropic", "claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4-5"},
		{"anthropic", "claude-opus-5-20260101", "anthropic/claude-opus-5"},
		{"gemini", "gemini-2.5-pro-preview-05-06", "google/gemini-2.5-pro"},
		{"gemini", "gemini-2.5-pro-preview-tts", "google/gemini-2.5-pro-tts"}, // a negated expression excludes it
		{"vertex", "claude-2.1", "anthropic/claude-2"},                        // sold by another
		{"bedrock", "eu.anthropic.claude-sonnet-4-5-20250929-v1:0", "aws/regional.anthropic.claude-sonnet-4-5-20250929-v1:0"},
		{"bedrock", "global.anthropic.claude-sonnet-4-5-20250929-v1:0", "aws/global.anthropic.claude-sonnet-4-5-20250929-v1:0"},
		{"azure", "gpt-4o", "openai/gpt-4o"},
		{"azure", "deepseek-v3.2", "deepseek/deepseek-v3.2"},
		{"openrouter", "openai/gpt-6-sol", "openrouter/openai/gpt-6-sol"},
		{"together", "meta-llama/Llama-3.3-70B-Instruct-Turbo", "together/meta-llama/Llama-3.3-70B-Instruct-Turbo"},
		{"google", "openai/gpt-4o", ""},
	}
	for _, tt := range tests {
		p := b.Price(tt.provider, tt.model, moment(t, now))
		_, got, _ := strings.Cut(p.Version, "/") // after the name and version of the data
		got, _, _ = strings.Cut(got, "#")
		if got != tt.want {
			t.Errorf("%s/%s: got %q, want %q", tt.provider, tt.model, got, tt.want)
		}
		if _, ok := b.Model(tt.provider, tt.model); ok != (tt.want != "") {
			t.Errorf("Model(%s, %s): got %v, want %v", tt.provider, tt.model, ok, tt.want != "")
		}
	}
}

func TestFreeIsNotUnknown(t *testing.T) {
	t.Parallel()
	b := newBook(t, pricing.Overrides{})
	tests := []struct {
		provider, model string
		known           bool
	}{
		{"openrouter", "meta-llama/llama-3.3-70b-instruct:free", true}, // free by name
		{"gemini", "gemma-3-27b-it", true},                             // free according to its vendor
		{"gemini", "gemma-4-31b-it", true},                             //
		{"openai", "omni-moderation-latest", true},                     //
		{"gemini", "gemma-3-400b-it", false},                           // only called like one that is
		{"openai", "ft:gpt-4.1-2025-04-14:acme:moderation:abc", false}, //
		{"azure", "content-moderation", false},                         //
		{"azure", "omni-moderation-latest", false},                     // free at OpenAI
		{"vertex", "gemma-3-27b-it", false},                            // free at the Gemini API
		{"vertex", "gemma-4-31b-it", false},                            //
		{"cerebras", "qwen-3-coder-480b", false},                       // in the data without a price
		{"mistral", "mistral-ocr-latest", false},                       // priced by the page, which is not counted
		{"openai", "never-heard-of", false},
	}
	for _, tt := range tests {
		p := b.Price(tt.provider, tt.model, moment(t, now))
		u := llm.Usage{llm.Input: 1_000_000, llm.Output: 1_000_000}
		if got := p.Known(); got != tt.known {
			t.Errorf("%s/%s known: got %v, want %v", tt.provider, tt.model, got, tt.known)
		}
		if got := p.Cost(&u, ""); got != 0 {
			t.Errorf("%s/%s cost: got %s, want 0", tt.provider, tt.model, got)
		}
		if got := p.Unpriced(&u, "") == 0; got != tt.known {
			t.Errorf("%s/%s free: got %v, want %v", tt.provider, tt.model, got, tt.known)
		}
	}
}

func TestVersionNamesRates(t *testing.T) {
	t.Parallel()
	one, two := newBook(t, pricing.Overrides{}), newBook(t, pricing.Overrides{})
	before, after := moment(t, "2025-06-09T12:00:00Z"), moment(t, "2025-06-10T12:00:00Z")
	v := func(b *pricing.Book, at time.Time) string { p := b.Price("openai", "o3", at); return p.Version }
	if got, want := v(one, before), v(two, before); got != want || got == "" {
		t.Errorf("version of the same rates: got %q, want %q", got, want)
	}
	if got, not := v(one, after), v(one, before); got == not {
		t.Errorf("version of other rates: got %q, want another", got)
	}
	rates := map[string]llm.Price{}
	for _, m := range readVendors(t) {
		for _, at := range []time.Time{before, moment(t, now)} {
			for _, l := range one.Models(m.ID, at) {
				l.Price.Basis, l.Price.Ceiling = 0, 0 // these describe how the price was found
				if other, ok := rates[l.Price.Version]; ok && l.Price.Known() {
					must.Equal(t, other, l.Price, "version %s: two prices", l.Price.Version)
				}
				rates[l.Price.Version] = l.Price
			}
		}
	}
}

func TestModelSizes(t *testing.T) {
	t.Parallel()
	b := newBook(t, pricing.Overrides{
		Models: map[string]pricing.ModelOverride{
			"house/small":   {Context: 32768, MaxOutput: 4096},
			"openai/gpt-4o": {MaxOutput: 9999},
			"openai/o3":     {Context: 50_000},
			"lab/*":         {Context: 1000},
		},
		Prices: map[string]pricing.PriceOverride{"house/dear": {"input": "1"}},
	})
	tests := []struct {
		provider, model string
		context, output int64
		source          string
		ok              bool
	}{
		{"house", "small", 32768, 4096, "operator", true},
		{"openai", "gpt-4o", 128_000, 9999, b.Source(), true},
		{"openai", "o3", 50_000, 0, b.Source(), true},                         // its 100,000 of output find no room
		{"anthropic", "claude-sonnet-4-5", 200_000, 64_000, b.Source(), true}, // the price data's context counts
		{"nvidia", "openai/gpt-oss-20b", 131_072, 32_768, b.AbilitySource(), true},
		{"lab", "x", 1000, 0, "operator", true},
		{"house", "dear", 0, 0, "operator", false},
		{"house", "none", 0, 0, "", false},
	}
	for _, tt := range tests {
		got, ok := b.Model(tt.provider, tt.model)
		if got.ID != tt.model || got.Context != tt.context || got.MaxOutput != tt.output || got.Source != tt.source || ok != tt.ok {
			t.Errorf("Model(%s, %s): got %+v, %v, want %+v", tt.provider, tt.model, got, ok, tt)
		}
		if fromData := strings.Contains(got.Source, " "); fromData != (got.Checked != "") {
			t.Errorf("Model(%s, %s): got source %q of day %q", tt.provider, tt.model, got.Source, got.Checked)
		}
	}
	list := b.Models("house", moment(t, now))
	if len(list) != 2 || list[0].ID != "dear" || !list[0].Price.Known() || list[1].ID != "small" || list[1].Price.Known() {
		t.Errorf("Models(house): got %+v, want dear with a price, small without", list)
	}
}

// TestListedNamesAreFound checks that clients can request each listed name, at its listed price.
func TestListedNamesAreFound(t *testing.T) {
	t.Parallel()
	b := newBook(t, pricing.Overrides{})
	headings := []string{"magistral-small", "ft:gpt-4o", "ft:gpt-4o-mini"} // families, found by the rest of the name
	n := 0
	for _, v := range readVendors(t) {
		list := b.Models(v.ID, moment(t, now))
		n += len(list)
		if !slices.IsSortedFunc(list, func(x, y pricing.Listing) int { return strings.Compare(x.ID, y.ID) }) {
			t.Errorf("Models(%s): not in the order of names", v.ID)
		}
		for _, l := range list {
			got := b.Price(v.ID, l.ID, moment(t, now))
			if diff := cmp.Diff(got, l.Price); diff != "" && !slices.Contains(headings, l.ID) {
				t.Errorf("%s/%s (-found +listed):\n%s", v.ID, l.ID, diff)
			}
		}
	}
	if n < 1500 {
		t.Errorf("models: got %d, want 1500 at least", n)
	}
}

func TestProvenanceNamesSources(t *testing.T) {
	t.Parallel()
	b := newBook(t, pricing.Overrides{})
	for source, want := range map[string]string{b.Source(): "@pydantic/genai-prices", b.AbilitySource(): "models.dev"} {
		if name, version, _ := strings.Cut(source, " "); name != want || version == "" {
			t.Errorf("source: got %q, want %s and a version", source, want)
		}
	}
	for _, day := range []string{b.Day(), b.AbilityDay()} {
		if _, err := time.Parse(time.DateOnly, day); err != nil {
			t.Errorf("day: got %q, want a date", day)
		}
	}
	if got := b.URLs("anthropic"); len(got) == 0 || !strings.HasPrefix(got[0], "https://") {
		t.Errorf("URLs(anthropic): got %q, want an address", got)
	}
	if got := b.URLs("house"); got != nil {
		t.Errorf("URLs(house): got %q, want none", got)
	}
	for _, file := range []string{"data/NOTICE", "data/abilities/NOTICE"} {
		notice, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(notice), "MIT License") || !strings.Contains(string(notice), "Copyright") {
			t.Errorf("%s: got %q, %v, want the licence of the data", file, notice, err)
		}
	}
}

// TestRememberedPricesExpire compares one book, with requests for any times in any order, with a new one for each: its
// cache ends where a date or a time of day begins.
func TestRememberedPricesExpire(t *testing.T) {
	t.Parallel()
	b, vendors := newBook(t, pricing.Overrides{}), readVendors(t)
	subjects := []struct{ vendor, model string }{
		{"deepseek", "deepseek-v4-flash"},
		{"deepseek", "deepseek-reasoner"},
		{"openai", "gpt-5.6-sol"},
		{"google", "gemini-3.7-flash"},
		{"mistral", "mistral-medium-latest"},
		{"openai", "gpt-4o"},
	}
	from := moment(t, "2025-01-01T00:00:00Z").Unix()
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.SampledFrom(subjects).Draw(rt, "model")
		sec := from + rapid.Int64Range(0, 3*365*24*3600).Draw(rt, "second")
		if rapid.Bool().Draw(rt, "near an edge") {
			sec = sec/1800*1800 + rapid.Int64Range(-1, 1).Draw(rt, "off")
		}
		at := time.Unix(sec, rapid.Int64Range(0, 999_999_999).Draw(rt, "nanos"))
		m := readModel(t, vendors, s.vendor, s.model)
		u := llm.Usage{llm.Input: 12_345, llm.CacheRead: 678, llm.Output: 910}
		rates := exactRates(t, m.period(at), inputTokens(&u))
		p := b.Price(s.vendor, s.model, at)
		if got, want := p.Cost(&u, ""), exactCost(&rates, &u); got != want {
			rt.Fatalf("%s/%s at %s: got %s, want %s", s.vendor, s.model, at.UTC(), got, want)
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	b := newBook(t, pricing.Overrides{})
	want := newBook(t, pricing.Overrides{}).Price("deepseek", "deepseek-v4-flash", moment(t, now))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 200 {
				at := moment(t, now).Add(time.Duration(i*j) * time.Hour)
				b.Price("openrouter", strings.Repeat("x", j), at)
				b.Price("deepseek", "deepseek-v4-flash", at)
				b.Model("azure", "gpt-4o")
				if got := b.Price("deepseek", "deepseek-v4-flash", moment(t, now)); got.Version != want.Version {
					t.Errorf("deepseek-v4-flash: got %s, want %s", got.Version, want.Version)
				}
			}
		})
	}
	wg.Wait()
}

func TestRememberedPriceAllocatesNothing(t *testing.T) {
	b, at := newBook(t, pricing.Overrides{}), moment(t, now)
	u := llm.Usage{llm.Input: 300_000, llm.Output: 100}
	var cost llm.Money
	got := testing.AllocsPerRun(1000, func() {
		p := b.Price("openai", "gpt-5.4", at)
		info, _ := b.Model("openai", "gpt-5.4")
		cost += p.Cost(&u, "") + p.Bound(&llm.Usage{llm.Input: info.Context, llm.Output: 100, llm.Requests: 1})
	})
	if got != 0 || cost == 0 {
		t.Errorf("allocations of a remembered price: got %v (cost %s), want 0", got, cost)
	}
}

// TestRememberedAnswerAllocatesNothing checks that a cached price with tiers and modes, and the model's facts, do not
// allocate.
func TestRememberedAnswerAllocatesNothing(t *testing.T) {
	b, at := newBook(t, pricing.Overrides{}), moment(t, now)
	var modes int
	got := testing.AllocsPerRun(1000, func() {
		p := b.Price("openai", "gpt-5.5", at)
		info, _ := b.Model("openai", "gpt-5.5")
		modes += len(p.Modes) + len(info.Source)
	})
	if got != 0 || modes == 0 {
		t.Errorf("allocations of a remembered answer: got %v (%d), want 0", got, modes)
	}
}

// TestOtherSpellings checks that a model costs the same under all its names.
func TestOtherSpellings(t *testing.T) {
	t.Parallel()
	b, err := pricing.NewBook(pricing.Overrides{Sources: map[string]string{"bedrock": "aws", "openrouter": "openrouter"}})
	must.Do(t, err)
	for _, tt := range []struct{ provider, name, same string }{
		{"bedrock", "amazon.nova-lite-v1:0", "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0"},
		{"bedrock", "us.amazon.nova-lite-v1:0", "arn:aws:bedrock:us-east-1:1:inference-profile/us.amazon.nova-lite-v1:0"},
		{"openrouter", "openai/gpt-5-mini", "openai/gpt-5-mini:nitro"},
		{"openrouter", "openai/gpt-5-mini", "openai/gpt-5-mini:online"},
	} {
		want, got := b.Price(tt.provider, tt.name, time.Now()), b.Price(tt.provider, tt.same, time.Now())
		if !want.Known() || !cmp.Equal(got, want) {
			t.Errorf("%s/%s: got %+v, want that of %s, %+v", tt.provider, tt.same, got, tt.name, want)
		}
	}
}
