package charge_test

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"weir/internal/charge"
	"weir/internal/llm"
)

// TestMarkupProperties holds, for random markups and costs, that the charge is the exact quotient rounded up, and that it
// never falls as the cost rises.
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

// exactly is the charge by arithmetic without bounds.
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

// TestTermsProperties holds, for random prices and usage, that the charge of what is used is within the charge of its
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

// TestOwnPrice holds what a price of the account's own charges, and what stays with the markup.
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

// TestParseMarkup holds the form of percent, and that it reads back.
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
	for _, text := range []string{"", "-", "x", "1.234", "1.", ".5", "10000.01", "-100.01", "1e3", "+5", "--5", "999999"} {
		if m, err := charge.ParseMarkup(text); err == nil {
			t.Errorf("%q: got %d, want an error", text, m)
		}
	}
}
