package charge_test

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"weir/internal/charge"
	"weir/internal/llm"
)

// TestMarkupProperties checks, for random markups and costs, that the charge is the exact quotient rounded up, and that
// it never falls as the cost rises.
func TestMarkupProperties(t *testing.T) {
	t.Parallel()
	const seed = 20261126
	r := rand.New(rand.NewPCG(seed, 1))
	amount := func() llm.Money { return llm.Money(r.Int64N(int64(llm.MaxCost) >> r.IntN(50))) }
	for range 100_000 {
		m := charge.MinMarkup + charge.Markup(r.Int32N(int32(charge.MaxMarkup-charge.MinMarkup+1)>>r.IntN(20)))
		a, b := amount(), amount()
		if a > b {
			a, b = b, a
		}
		want := exactly(a, m)
		if got := m.Of(a); got != want {
			t.Fatalf("seed %d: %s and %s %%: got %s, want %s", seed, a, m, got, want)
		}
		if m.Of(a) > m.Of(b) {
			t.Fatalf("seed %d: at %s %%, %s is charged with %s, and %s with less", seed, m, a, m.Of(a), b)
		}
	}
}

// exactly returns the charge by arithmetic without bounds.
func exactly(cost llm.Money, m charge.Markup) llm.Money {
	n := new(big.Int).Mul(big.NewInt(int64(cost)), big.NewInt(10_000+int64(m)))
	n, rest := n.QuoRem(n, big.NewInt(10_000), new(big.Int))
	if rest.Sign() > 0 {
		n.Add(n, big.NewInt(1))
	}
	if most := big.NewInt(int64(llm.MaxCost)); n.Cmp(most) > 0 {
		n = most
	}
	return llm.Money(n.Int64())
}

// TestTermsProperties checks, for random prices and usage, that the charge of the usage is within the charge of its
// bound, with a markup and with a price of the account's own that may lack rates.
func TestTermsProperties(t *testing.T) {
	t.Parallel()
	const seed = 7
	r := rand.New(rand.NewPCG(seed, 2))
	price := func(known float64) (p llm.Price) {
		p.Version = "v"
		for class := range p.Rates {
			if r.Float64() < known {
				p.Rates[class] = llm.RateOf(r.Int64N(100_000_000))
			}
		}
		return p
	}
	for range 20_000 {
		provider, terms := price(1), &charge.Terms{Markup: charge.Markup(r.Int32N(30_000) - 10_000)}
		if r.IntN(2) == 0 {
			terms.Price = price(r.Float64())
		}
		var used, most llm.Usage
		for class := range used {
			used[class] = r.Int64N(10_000)
			most[class] = used[class] + r.Int64N(10_000)
		}
		cost, bound := provider.Cost(&used, ""), provider.Bound(&most)
		got, atMost := terms.Charge(cost, &provider, &used, ""), terms.Bound(bound, &provider, &most, "")
		if cost <= bound && got > atMost {
			t.Fatalf("seed %d: %+v charge %s, and at most %s", seed, terms, got, atMost)
		}
	}
}

// TestOwnPrice checks the charge by a price of the account's own, and the rest with the markup.
func TestOwnPrice(t *testing.T) {
	t.Parallel()
	provider, own := llm.Price{Version: "p"}, llm.Price{Version: "o"}
	provider.Rates[llm.Input], provider.Rates[llm.Searches] = 1_000_000, 10_000_000_000
	own.Rates[llm.Input] = 3_000_000
	used := llm.Usage{llm.Input: 1000, llm.Searches: 2}
	cost := provider.Cost(&used, "")
	var none *charge.Terms
	for _, tt := range []struct {
		name  string
		terms *charge.Terms
		want  llm.Money
	}{
		{"no list", none, cost},
		{"a markup", &charge.Terms{Markup: 1000}, cost + cost/10},
		{"a price of its own", &charge.Terms{Markup: 1000, Price: own}, 3_000_000 + 22_000_000},
		{"a discount of all", &charge.Terms{Markup: charge.MinMarkup}, 0},
	} {
		if got := tt.terms.Charge(cost, &provider, &used, ""); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestParseMarkup checks the form of percent, and that it is parsed back.
func TestParseMarkup(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]charge.Markup{
		"0": 0, "15": 1500, "7.25": 725, "7.5": 750, "-5": -500, "-100": -10_000, "10000": charge.MaxMarkup, "0.01": 1, "-0.5": -50,
	} {
		m, err := charge.ParseMarkup(text)
		if err != nil || m != want || m.String() != text {
			t.Errorf("%q: got %d as %q and %v, want %d", text, m, m, err, want)
		}
	}
	if m, err := charge.ParseMarkup(" 15 %"); err != nil || m != 1500 {
		t.Errorf("with a percent sign: got %d and %v, want 1500", m, err)
	}
	for _, text := range []string{"", "%", "5%%", "-", "x", "1.234", "1.", ".5", "10000.01", "-100.01", "1e3", "+5", "--5", "999999"} {
		if m, err := charge.ParseMarkup(text); err == nil {
			t.Errorf("%q: got %d, want an error", text, m)
		}
	}
}

// TestUnpricedProperties checks, for random prices and usage, that a charge is called unpriced in a class if, and only
// if, a missing rate of the provider's price would change it.
func TestUnpricedProperties(t *testing.T) {
	t.Parallel()
	const seed = 20261128
	r := rand.New(rand.NewPCG(seed, 3))
	rates := func(known float64, of *llm.Price) {
		tokens := r.IntN(2) == 0 // a price has rates for all classes of tokens, or none
		for class := range of.Rates {
			if class < llm.NumTokens && tokens || class >= llm.NumTokens && r.Float64() < known {
				of.Rates[class] = llm.RateOf(1 + r.Int64N(100_000_000))
			}
		}
	}
	marked := 0
	for range 20_000 {
		var provider llm.Price
		if r.IntN(3) > 0 {
			provider.Version = "p"
			rates(0.5, &provider)
		}
		terms := &charge.Terms{Markup: charge.Markup(r.Int32N(30_000) - 10_000)}
		switch r.IntN(4) {
		case 0:
			terms = nil
		case 1:
			terms.Markup = charge.MinMarkup
		case 2:
			terms.Price.Version = "o"
			rates(0.5, &terms.Price)
		}
		var used llm.Usage
		for class := range used {
			if c := llm.Class(class); r.IntN(4) == 0 && c != llm.Requests && (c < llm.Images || c > llm.Milliseconds) { // no class that tokens cover
				used[class] = 1 + r.Int64N(1000)
			}
		}
		got := terms.Unpriced(provider.Unpriced(&used, ""), &provider, &used, "")
		full := provider
		full.Version = "f"
		for class, rate := range full.Rates {
			if !rate.Known() {
				full.Rates[class] = 7_000_000_000
			}
		}
		before := terms.Charge(provider.Cost(&used, ""), &provider, &used, "")
		after := terms.Charge(full.Cost(&used, ""), &full, &used, "")
		if (got != 0) != (before != after) {
			t.Fatalf("seed %d: %+v, price %+v, used %v: got %v without a price; charged %s, with all rates %s", seed, terms,
				provider, used, got.Names(), before, after)
		}
		if got != 0 {
			marked++
		}
	}
	if marked < 1000 {
		t.Errorf("%d charges were without a class, want many", marked)
	}
}

// TestOwnPriceWithoutProviderPrice checks the charge if the provider's price is unknown: tokens cover the request and
// its other measures, and other classes are named.
func TestOwnPriceWithoutProviderPrice(t *testing.T) {
	t.Parallel()
	own := llm.Price{Version: "o"}
	for class := range llm.NumTokens {
		own.Rates[class] = 2_000_000
	}
	terms, none := &charge.Terms{Price: own}, llm.Price{}
	for _, tt := range []struct {
		name    string
		used    llm.Usage
		ofCost  llm.Classes
		want    llm.Classes
		decides bool // only the own price
	}{
		{"tokens of a request", llm.Usage{llm.Input: 3, llm.Output: 1, llm.Requests: 1}, 0, 0, true},
		{"tokens that measure images", llm.Usage{llm.Input: 3, llm.Images: 2}, 0, 0, true},
		{"a search", llm.Usage{llm.Input: 3, llm.Searches: 1}, 0, llm.Classes(0).With(llm.Searches), false},
		{"a tool that may have been used", llm.Usage{llm.Input: 3}, llm.Classes(0).With(llm.OtherTools), llm.Classes(0).With(llm.OtherTools), true},
		{"output that may have been made", llm.Usage{llm.Input: 3}, llm.Classes(0).With(llm.Output), 0, true},
	} {
		ofCost := tt.ofCost | none.Unpriced(&tt.used, "")
		if got := terms.Unpriced(ofCost, &none, &tt.used, ""); got != tt.want {
			t.Errorf("%s: got %v without a price, want %v", tt.name, got.Names(), tt.want.Names())
		}
		if got := terms.Covers(&none, &tt.used, ""); got != tt.decides {
			t.Errorf("%s: the own price decides alone: got %t, want %t", tt.name, got, tt.decides)
		}
	}
	if got := terms.Rates(none); got.Version != "o" || got.Rates != own.Rates {
		t.Errorf("as the account pays it: got %+v, want its own price", got)
	}
	for _, tt := range []struct {
		most llm.Usage
		want llm.Classes
	}{
		{llm.Usage{llm.Input: 100, llm.Output: 10, llm.Requests: 1}, 0},
		{llm.Usage{llm.Input: 100, llm.Maps: 1}, llm.Classes(0).With(llm.Maps)},
	} {
		if got := terms.Unbounded(&none, &tt.most, "", 0); got != tt.want {
			t.Errorf("bound of %v: got it without %v, want %v", tt.most, got.Names(), tt.want.Names())
		}
	}
}
