package llm_test

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/llm"
	"weir/internal/must"
)

// exact returns the cost with integers of any size: the sum of counts times rates, plus half a nano-dollar, in whole
// nano-dollars, cut at the largest Money.
func exact(p *llm.Price, u *llm.Usage) llm.Money {
	input := new(big.Int)
	for c, n := range u {
		if llm.Class(c).IsInput() {
			input.Add(input, big.NewInt(n))
		}
	}
	rates := p.Rates
	for _, tier := range p.Tiers {
		if input.Cmp(big.NewInt(tier.Above)) > 0 {
			rates = tier.Rates
		}
	}
	sum := big.NewInt(500_000) // in thousandths of a pico-dollar, because a rate by time is that of a second
	for c, n := range u {
		part := new(big.Int).Mul(big.NewInt(n), big.NewInt(max(0, int64(rates[c]))))
		if llm.Class(c) != llm.Milliseconds {
			part.Mul(part, big.NewInt(1000))
		}
		sum.Add(sum, part)
	}
	sum.Quo(sum, big.NewInt(1_000_000))
	if !sum.IsInt64() {
		return math.MaxInt64
	}
	return llm.Money(sum.Int64())
}

// counts draws small, usual and absurd numbers alike.
func counts() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, 300_000), rapid.Int64Range(0, math.MaxInt64))
}

func usages() *rapid.Generator[llm.Usage] {
	return rapid.Custom(func(t *rapid.T) (u llm.Usage) {
		for c := range u {
			u[c] = counts().Draw(t, llm.Class(c).String())
		}
		return u
	})
}

func rates() *rapid.Generator[llm.Rates] {
	return rapid.Custom(func(t *rapid.T) (r llm.Rates) {
		for c := range r {
			r[c] = llm.RateOf(counts().Draw(t, llm.Class(c).String()+" rate"))
		}
		return r
	})
}

// prices generates prices with up to three tiers; rising ones cost no less than the one before.
func prices(rising bool) *rapid.Generator[llm.Price] {
	return rapid.Custom(func(t *rapid.T) llm.Price {
		p := llm.Price{Version: "v", Rates: rates().Draw(t, "rates")}
		last, above := p.Rates, int64(0)
		for range rapid.IntRange(0, 3).Draw(t, "tiers") {
			above += rapid.Int64Range(1, 200_000).Draw(t, "step")
			r := rates().Draw(t, "tier rates")
			for c := range r {
				if rising {
					r[c] = max(r[c], last[c])
				}
			}
			p.Tiers = append(p.Tiers, llm.Tier{Above: above, Rates: r})
			last = r
		}
		return p
	})
}

func TestCostIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, u := prices(false).Draw(t, "price"), usages().Draw(t, "usage")
		got, want := p.Cost(&u, ""), exact(&p, &u)
		if got != want || got < 0 {
			t.Fatalf("%+v for %v: got %d, want %d", p, u, got, want)
		}
	})
}

func TestCostRises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, less := prices(true).Draw(t, "price"), usages().Draw(t, "usage")
		more := less
		c := rapid.IntRange(0, llm.NumClasses-1).Draw(t, "class")
		more[c] += rapid.Int64Range(0, math.MaxInt64-more[c]).Draw(t, "more")
		if got, least := p.Cost(&more, ""), p.Cost(&less, ""); got < least {
			t.Fatalf("%+v: got %d for %v, want at least the %d of %v", p, got, more, least, less)
		}
	})
}

// TestBoundCoversAllSplits checks that the tokens within a bound cost no more than the bound, for any split over
// classes and tiers.
func TestBoundCoversAllSplits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := prices(rapid.Bool().Draw(t, "rising")).Draw(t, "price")
		input, output := rapid.Int64Range(0, 1_000_000).Draw(t, "input"), rapid.Int64Range(0, 1_000_000).Draw(t, "output")
		if len(p.Tiers) > 0 && rapid.Bool().Draw(t, "at an edge") {
			tier := rapid.SampledFrom(p.Tiers).Draw(t, "tier")
			input = max(0, tier.Above+rapid.Int64Range(-1, 1).Draw(t, "off"))
		}
		u := llm.Usage{llm.Requests: rapid.Int64Range(0, 1).Draw(t, "requests")}
		inLeft, outLeft := input, output
		for c := range llm.NumTokens {
			left := &outLeft
			if llm.Class(c).IsInput() {
				left = &inLeft
			}
			u[c] = rapid.Int64Range(0, *left).Draw(t, "tokens")
			*left -= u[c]
		}
		if rapid.Bool().Draw(t, "all of it") {
			u[llm.Input] += inLeft
			u[llm.Output] += outLeft
		}
		if got, bound := p.Cost(&u, ""), p.Bound(&llm.Usage{llm.Input: input, llm.Output: output, llm.Requests: 1}); got > bound {
			t.Fatalf("%+v for %v: got %d, want at most the bound %d of %d in, %d out", p, u, got, bound, input, output)
		}
	})
}

func TestCostTable(t *testing.T) {
	t.Parallel()
	flat := func(r llm.Rates) llm.Price { return llm.Price{Version: "v", Rates: r} }
	tiered := flat(llm.Rates{llm.Input: 1_000_000, llm.CacheRead: 100_000, llm.Output: 2_000_000})
	tiered.Tiers = []llm.Tier{
		{Above: 200_000, Rates: llm.Rates{llm.Input: 2_000_000, llm.CacheRead: 200_000, llm.Output: 3_000_000}},
		{Above: 400_000, Rates: llm.Rates{llm.Input: 4_000_000, llm.CacheRead: 400_000, llm.Output: 5_000_000}},
	}
	var most llm.Rates
	var much llm.Usage
	for c := range most {
		most[c], much[c] = math.MaxInt64, math.MaxInt64
	}
	tests := []struct {
		name  string
		price llm.Price
		usage llm.Usage
		want  llm.Money
	}{
		{"nothing", flat(llm.Rates{llm.Input: 1}), llm.Usage{}, 0},
		{"unknown price", llm.Price{Rates: llm.Rates{llm.Input: 1000}}, llm.Usage{llm.Input: 5}, 0},
		{"499 pico", flat(llm.Rates{llm.Input: 499}), llm.Usage{llm.Input: 1}, 0},
		{"half a nano rounds up", flat(llm.Rates{llm.Input: 500}), llm.Usage{llm.Input: 1}, 1},
		{"1,499 pico", flat(llm.Rates{llm.Input: 1499}), llm.Usage{llm.Input: 1}, 1},
		{"rounded once, not by class", flat(llm.Rates{llm.Input: 400, llm.Output: 400, llm.Reasoning: 400}), llm.Usage{llm.Input: 1, llm.Output: 1, llm.Reasoning: 1}, 1},
		{"negative counts are none", flat(llm.Rates{llm.Input: 1000, llm.Output: 1000}), llm.Usage{llm.Input: -5, llm.Output: 2}, 2},
		{"negative rates are none", flat(llm.Rates{llm.Input: -1000, llm.Output: 1000}), llm.Usage{llm.Input: 5, llm.Output: 2}, 2},
		{"tier below", tiered, llm.Usage{llm.Input: 199_999, llm.Output: 1}, 199_999_000 + 2000},
		{"tier at", tiered, llm.Usage{llm.Input: 200_000, llm.Output: 1}, 200_000_000 + 2000},
		{"tier above, the whole request", tiered, llm.Usage{llm.Input: 200_001, llm.Output: 1}, 400_002_000 + 3000},
		{"cached input counts for the tier", tiered, llm.Usage{llm.Input: 1, llm.CacheRead: 200_000}, 2000 + 40_000_000},
		{"output does not", tiered, llm.Usage{llm.Input: 1, llm.Output: 900_000}, 1000 + 1_800_000_000},
		{"second tier", tiered, llm.Usage{llm.Input: 400_001}, 1_600_004_000},
		{"largest that fits", flat(llm.Rates{llm.Input: 1000}), llm.Usage{llm.Input: math.MaxInt64}, math.MaxInt64},
		{"one more", flat(llm.Rates{llm.Input: 1000, llm.Output: 1000}), llm.Usage{llm.Input: math.MaxInt64, llm.Output: 1}, math.MaxInt64},
		{"beyond 128 bits", flat(most), much, math.MaxInt64},
		{
			"input that overflows is above every tier",
			llm.Price{Version: "v", Tiers: []llm.Tier{{Above: 5, Rates: llm.Rates{llm.Output: 7000}}}},
			llm.Usage{llm.Input: math.MaxInt64, llm.CacheRead: math.MaxInt64, llm.Output: 1},
			7,
		},
	}
	for _, tt := range tests {
		if got := tt.price.Cost(&tt.usage, ""); got != tt.want {
			t.Errorf("%s: %v: got %d, want %d", tt.name, tt.usage, got, tt.want)
		}
	}
}

// TestCostSaturatesAtTheVeryEdge uses a sum of products that fills 128 bits, so that the rounding half of a nano-dollar
// would overflow.
func TestCostSaturatesAtTheVeryEdge(t *testing.T) {
	t.Parallel()
	want := new(big.Int).Lsh(big.NewInt(1), 128)
	want.Sub(want, big.NewInt(1)) // 2^128-1 as a sum of counts times rates
	p, u := llm.Price{Version: "v"}, llm.Usage{}
	most := big.NewInt(math.MaxInt64)
	rest := new(big.Int).Set(want)
	for c := 0; c < llm.NumClasses && rest.Sign() > 0; c++ {
		n, r := new(big.Int), new(big.Int)
		n.Quo(rest, most)
		if n.Cmp(most) > 0 {
			n.Set(most)
		}
		if n.Sign() == 0 {
			n.SetInt64(1)
		}
		r.Quo(rest, n)
		if r.Cmp(most) > 0 {
			r.Set(most)
		}
		u[c], p.Rates[c] = n.Int64(), llm.RateOf(r.Int64())
		rest.Sub(rest, n.Mul(n, r))
	}
	if rest.Sign() != 0 {
		t.Fatalf("sum of the products: got 2^128-1-%s, want 2^128-1", rest)
	}
	if got := p.Cost(&u, ""); got != math.MaxInt64 {
		t.Errorf("cost of 2^128-1 pico-dollars: got %d, want %d", got, int64(math.MaxInt64))
	}
}

func TestBoundTable(t *testing.T) {
	t.Parallel()
	p := llm.Price{
		Version: "v",
		Rates:   llm.Rates{llm.Input: 1000, llm.CacheWrite1h: 2000, llm.Output: 4000, llm.Reasoning: 3000, llm.Requests: 7000, llm.Searches: 9000},
		Tiers:   []llm.Tier{{Above: 10, Rates: llm.Rates{llm.Input: 5000, llm.Output: 6000}}},
	}
	cheaper := llm.Price{Version: "v", Rates: llm.Rates{llm.Input: 9000}, Tiers: []llm.Tier{{Above: 10, Rates: llm.Rates{llm.Input: 1000}}}}
	tests := []struct {
		name          string
		price         llm.Price
		input, output int64
		want          llm.Money
	}{
		{"dearest classes and one request", p, 10, 5, 10*2 + 5*4 + 7},
		{"tier in reach", p, 11, 5, 11*5 + 5*6},
		{"a cheaper tier does not lower it", cheaper, 11, 0, 99},
		{"no tokens", p, 0, 0, 7},
		{"unknown", llm.Price{Rates: p.Rates}, 10, 5, 0},
		{"saturates", p, math.MaxInt64, math.MaxInt64, math.MaxInt64},
	}
	for _, tt := range tests {
		if got := tt.price.Bound(&llm.Usage{llm.Input: tt.input, llm.Output: tt.output, llm.Requests: 1}); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestKnownNeedsVersion(t *testing.T) {
	t.Parallel()
	var none *llm.Price
	if none.Known() || (&llm.Price{}).Known() {
		t.Error("no version: got known, want unknown")
	}
	if !(&llm.Price{Version: "free"}).Known() {
		t.Error("a version without rates: got unknown, want known and free")
	}
}

func TestParseRate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in        string
		rate      int64  // of a million
		unit      int64  // of one
		rateError string // part of the message; the unit's is the same except for the decimals
	}{
		{"0", 0, 0, ""},
		{"1", 1_000_000, 1_000_000_000_000, ""},
		{"2.50", 2_500_000, 2_500_000_000_000, ""},
		{"0.003625", 3625, 3_625_000_000, ""},
		{"0.0036250000000000", 3625, 3_625_000_000, ""},
		{"0.0000001", 0, 100_000, "more than 6 decimals"},
		{"9223372", 9_223_372_000_000, 0, ""},
		{"-0.1", 0, 0, "negative"},
		{"", 0, 0, "plain decimal"},
		{"1e3", 0, 0, "plain decimal"},
		{"$1", 0, 0, "plain decimal"},
	}
	for _, tt := range tests {
		got, err := llm.ParseRate(tt.in)
		if got != tt.rate || (err == nil) != (tt.rateError == "") || err != nil && !strings.Contains(err.Error(), tt.rateError) {
			t.Errorf("ParseRate(%q): got %d, %v, want %d, %q", tt.in, got, err, tt.rate, tt.rateError)
		}
		if tt.unit == 0 {
			continue
		}
		if got, err := llm.ParseUnitRate(tt.in); got != tt.unit || err != nil {
			t.Errorf("ParseUnitRate(%q): got %d, %v, want %d", tt.in, got, err, tt.unit)
		}
	}
	if _, err := llm.ParseUnitRate("9223373"); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("ParseUnitRate(9223373): got %v, want too large", err)
	}
	if _, err := llm.ParseUnitRate("0.0000000000001"); err == nil || !strings.Contains(err.Error(), "12 decimals") {
		t.Errorf("ParseUnitRate(1e-13): got %v, want more than 12 decimals", err)
	}
}

func TestDecimalsParseBack(t *testing.T) {
	t.Parallel()
	r := llm.Rates{llm.Input: 150_000, llm.CacheRead: 1, llm.Output: 600_000, llm.Reasoning: llm.Free, llm.Requests: 5_000_000_000, llm.Characters: 1, llm.Milliseconds: 100_000_000, llm.Images: 2_000_000_000_000}
	want := map[string]string{
		// Free classes cost 0; unknown ones are left out.
		"input": "0.15", "cache_read": "0.000001", "output": "0.6", "reasoning": "0",
		"request": "0.005", "character": "0.000000000001", "second": "0.0001", "image": "2",
	}
	must.Equal(t, r.Decimals(), want, "Decimals")
	for _, pico := range []int64{0, 1, 999_999_999_999, 1_000_000_000_000, 1_500_000_000_000, 123_456_789_012_345} {
		text := llm.FormatUnitRate(pico)
		if got, err := llm.ParseUnitRate(text); got != pico || err != nil {
			t.Errorf("FormatUnitRate(%d) is %q: read back got %d, %v", pico, text, got, err)
		}
	}
}

// served returns a price with a tier and modes: two that multiply and two with rates of their own.
func served() llm.Price {
	rates := func(input, output llm.Rate) llm.Rates {
		return llm.Rates{llm.Input: input, llm.Output: output, llm.Searches: 10_000_000_000}
	}
	flex := []llm.Tier{{Above: 500, Rates: llm.Rates{llm.Input: 750_000}}}
	return llm.Price{
		Version: "v",
		Rates:   rates(1_000_000, 4_000_000),
		Tiers:   []llm.Tier{{Above: 1000, Rates: rates(2_000_000, 6_000_000)}},
		Modes: []llm.Mode{
			{Name: "priority", Rates: rates(3_000_000, 9_000_000)},
			{Name: "flex", Rates: llm.Rates{llm.Input: 500_000}, Tiers: flex},
			{Name: "geo:us", Times: 1100},
			{Name: "speed:fast", Times: 2000},
		},
	}
}

func TestModesChangeCost(t *testing.T) {
	t.Parallel()
	with, without := served(), served()
	without.Modes = nil
	tokens := llm.Classes(0).With(llm.Input).With(llm.Output)
	usage := llm.Usage{llm.Input: 1000, llm.Output: 100, llm.Searches: 1}
	long := llm.Usage{llm.Input: 1001, llm.Output: 100, llm.Searches: 1}
	tests := []struct {
		name     string
		price    llm.Price
		usage    llm.Usage
		served   string
		want     llm.Money
		unpriced llm.Classes
	}{
		{"none", with, usage, "", 1_400_000 + 10_000_000, 0},
		{"the usual one by its names", with, usage, "default,geo:global,speed:standard", 1_400_000 + 10_000_000, 0},
		{"rates of its own", with, usage, "priority", 3_900_000 + 10_000_000, 0},
		{"as a provider writes it", with, usage, "SERVICE_TIER_PRIORITY", 3_900_000 + 10_000_000, 0},
		{"tiers of its own", with, long, "flex", 750_750, llm.Classes(0).With(llm.Output).With(llm.Searches)},
		{"times the rates, fees stay", with, usage, "geo:us", 1_540_000 + 10_000_000, 0},
		{"times the tier", with, long, "geo:us", 2_862_200 + 10_000_000, 0},
		{"one upon the other", with, usage, "geo:us,speed:fast", 3_080_000 + 10_000_000, 0},
		{"in any order", with, usage, "speed:fast,geo:us", 3_080_000 + 10_000_000, 0},
		{"times rates of its own", with, usage, "priority,geo:us", 4_290_000 + 10_000_000, 0},
		{"unknown: only what is no token costs", with, usage, "ultrafast", 10_000_000, tokens},
		{"unknown beside a known one", with, usage, "priority,geo:mars", 10_000_000, tokens},
		{"nil: the price is the same in all", without, usage, "ultrafast,geo:us", 1_400_000 + 10_000_000, 0},
	}
	for _, tt := range tests {
		got, missing := tt.price.Cost(&tt.usage, tt.served), tt.price.Unpriced(&tt.usage, tt.served)
		if got != tt.want || missing != tt.unpriced {
			t.Errorf("%s: %q: got %d and %v unpriced, want %d and %v",
				tt.name, tt.served, got, missing.Names(), tt.want, tt.unpriced.Names())
		}
	}
}

// TestBoundCoversModes checks that each mode, and those that multiply together, cost no more than the bound.
func TestBoundCoversModes(t *testing.T) {
	t.Parallel()
	p := served()
	for _, most := range []llm.Usage{
		{llm.Input: 1000, llm.Output: 100, llm.Searches: 1},
		{llm.Input: 1001, llm.Output: 100, llm.Searches: 1},
		{llm.Input: 1_000_000},
	} {
		bound := p.Bound(&most)
		for _, mode := range []string{"", "priority", "flex", "geo:us", "speed:fast", "geo:us,speed:fast", "priority,geo:us"} {
			if got := p.Cost(&most, mode); got > bound {
				t.Errorf("%q: got %d, want at most the bound %d", mode, got, bound)
			}
		}
	}
}

func TestUnpricedClassesAreFound(t *testing.T) {
	t.Parallel()
	p := llm.Price{Version: "v", Rates: llm.Rates{llm.Input: 1_000_000, llm.Output: llm.Free}}
	silent := llm.Price{Version: "v", Rates: llm.Rates{llm.Searches: 1000}}
	hourly := llm.Price{Version: "v", Rates: llm.Rates{llm.Milliseconds: 1_000_000}}
	both := llm.Price{Version: "v", Rates: llm.Rates{llm.Milliseconds: 1_000_000, llm.Input: 1000}}
	none := llm.Classes(0)
	tests := []struct {
		name  string
		price llm.Price
		usage llm.Usage
		cost  llm.Money
		want  llm.Classes
	}{
		{
			"a class without a rate adds nothing", p,
			llm.Usage{llm.Input: 5, llm.AudioIn: 7},
			5000, none.With(llm.AudioIn),
		},
		{"free is priced", p, llm.Usage{llm.Output: 7}, 0, 0},
		{"a request without a fee", p, llm.Usage{llm.Requests: 1}, 0, 0},
		{
			"images beside priced tokens", p,
			llm.Usage{llm.Input: 5, llm.Images: 1, llm.Characters: 2, llm.Milliseconds: 3},
			5000, 0,
		},
		{"images beside free tokens", p, llm.Usage{llm.Output: 5, llm.Images: 1}, 0, 0},
		{"images alone", p, llm.Usage{llm.Images: 1}, 0, none.With(llm.Images)},
		{
			"images beside tokens without a rate", p,
			llm.Usage{llm.AudioIn: 5, llm.Images: 1},
			0, none.With(llm.AudioIn).With(llm.Images),
		},
		{
			"tools have rates of their own", p,
			llm.Usage{llm.Input: 5, llm.Searches: 1, llm.OtherTools: 1},
			5000,
			none.With(llm.Searches).With(llm.OtherTools),
		},
		{"tokens beside priced seconds", hourly, llm.Usage{llm.Input: 5, llm.Output: 7, llm.Milliseconds: 9}, 9, 0},
		{"tokens alone", hourly, llm.Usage{llm.Input: 5}, 0, none.With(llm.Input)},
		{"output beside both", both, llm.Usage{llm.Input: 1, llm.Output: 7, llm.Milliseconds: 9}, 10, none.With(llm.Output)},
		{"tokens without a rate", silent, llm.Usage{llm.Input: 5, llm.Searches: 2}, 2, none.With(llm.Input)},
		{"no price", llm.Price{Rates: p.Rates}, llm.Usage{llm.Input: 5, llm.Requests: 1}, 0, none.With(llm.Input)},
	}
	for _, tt := range tests {
		got, missing := tt.price.Cost(&tt.usage, ""), tt.price.Unpriced(&tt.usage, "")
		if got != tt.cost || missing != tt.want {
			t.Errorf("%s: %v: got %d and %v, want %d and %v",
				tt.name, tt.usage, got, missing.Names(), tt.cost, tt.want.Names())
		}
	}
}

// TestBoundTakesOneModeOfAKind checks that the bound has only the dearest mode of each kind, because no two of a kind
// apply.
func TestBoundTakesOneModeOfAKind(t *testing.T) {
	t.Parallel()
	p := llm.Price{
		Version: "v", Rates: llm.Rates{llm.Input: 1_000_000},
		Modes: []llm.Mode{
			{Name: "priority", Times: 2000},
			{Name: "geo:us", Times: 1100},
			{Name: "fast", Times: 2000},
			{Name: "flex", Times: 500},
			{Name: "geo:eu", Times: 1200},
		},
	}
	u := llm.Usage{llm.Input: 1000}
	if got := p.Bound(&u); got != 2_400_000 {
		t.Errorf("got %d, want 2400000", got)
	}
}

// TestMultiplyChangesTokenRates checks that a price is multiplied in every tier and mode, only for tokens.
func TestMultiplyChangesTokenRates(t *testing.T) {
	t.Parallel()
	p, before := served(), served()
	p.Multiply(1100)
	for _, u := range []llm.Usage{{llm.Input: 1000, llm.Output: 100}, {llm.Input: 2000}} {
		for _, mode := range []string{"", "priority", "geo:us"} {
			if got, want := p.Cost(&u, mode), before.Cost(&u, mode)*11/10; got != want {
				t.Errorf("%v, %q: got %d, want %d", u, mode, got, want)
			}
		}
	}
	search := llm.Usage{llm.Searches: 1}
	if got, want := p.Cost(&search, ""), before.Cost(&search, ""); got != want {
		t.Errorf("a search: got %d, want %d", got, want)
	}
}

// TestBillOfShortRecordings checks that a short recording is charged as the shortest billed one, and an empty one is
// not.
func TestBillOfShortRecordings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ least, millis, want int64 }{
		{10, 2500, 10_000}, {10, 12_000, 12_000}, {10, 0, 0}, {0, 2500, 2500},
	} {
		u := llm.Usage{llm.Milliseconds: tt.millis, llm.Input: 1}
		q := llm.Quirks{LeastAudioSeconds: tt.least}
		if q.Bill(&u); u != (llm.Usage{llm.Milliseconds: tt.want, llm.Input: 1}) {
			t.Errorf("%+v: got %v", tt, u)
		}
	}
}

// TestServedTierIsRequestedTier checks that a provider whose answers report no service tier is assumed to have served
// in the requested one.
func TestServedTierIsRequestedTier(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		quirks            llm.Quirks
		told, asked, want string
	}{
		{llm.Quirks{}, "", "priority", ""},
		{llm.Quirks{NoTier: true}, "", "priority", "priority"},
		{llm.Quirks{NoTier: true}, "default", "priority", "default"},
		{llm.Quirks{}, "flex", "priority", "flex"},
	} {
		if got := tt.quirks.Served(tt.told, tt.asked); got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt, got, tt.want)
		}
	}
}
