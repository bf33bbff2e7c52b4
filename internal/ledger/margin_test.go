package ledger

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"weir/internal/charge"
	"weir/internal/llm"
)

// TestTermsInJournal checks that terms and margins are decoded as encoded, and that an attempt without them has the
// same bytes as before their introduction.
func TestTermsInJournal(t *testing.T) {
	t.Parallel()
	a := testAttempt(uuid.UUID{1}, 1)
	_, before, _ := readFrame(appendOpen(nil, &a))
	a.Terms, a.ChargeHold = &charge.Terms{Markup: -150, Price: llm.Price{Version: "list/m#1"}}, 77
	_, payload, _ := readFrame(appendOpen(nil, &a))
	got, err := decodeOpen(payload, nil)
	if want := *a.Terms; err != nil || !cmp.Equal(*got.Terms, want) || got.ChargeHold != 77 {
		t.Errorf("open: got %+v, %v; want %+v", got.Terms, err, want)
	}
	// One byte of length each for the markup's two bytes, the version, and the hold's two bytes.
	if more := len(payload) - len(before); more != 2+1+len("list/m#1")+2 {
		t.Errorf("terms take %d bytes", more)
	}
	s := Settlement{Outcome: OutcomeOK, Provenance: Exact, Cost: 5}
	_, before, _ = readFrame(appendSettle(nil, a.ID, &s))
	s.Margin, s.MarginUncertain = -3, 4
	_, payload, _ = readFrame(appendSettle(nil, a.ID, &s))
	_, back, err := decodeSettle(payload, nil)
	if err != nil || !cmp.Equal(back, s) || len(payload) != len(before)+2 {
		t.Errorf("settle: got %+v, %v; want %+v", back, err, s)
	}
}

// randomRow returns a settled attempt of an account with a price list, or without one.
func randomRow(r *rand.Rand, terms *charge.Terms) *Row {
	a := &Row{}
	a.Terms, a.Price = terms, llm.Price{Version: "v"}
	a.Price.Rates[llm.Input], a.Price.Rates[llm.Output] = 150_000, 600_000
	a.Bound = llm.Usage{llm.Input: r.Int64N(1000), llm.Output: r.Int64N(1000)}
	a.Hold = a.Price.Bound(&a.Bound)
	a.ChargeHold = terms.Bound(a.Hold, &a.Price, &a.Bound, "")
	for class, n := range a.Bound {
		a.Usage[class] = r.Int64N(n + 1)
	}
	a.Cost, a.Outcome, a.Provenance = a.Price.Cost(&a.Usage, ""), OutcomeCut, Exact
	switch r.IntN(3) {
	case 0:
		a.Provenance, a.AtMost = Estimated, a.Hold
	case 1:
		a.Provenance, a.Usage, a.Cost, a.AtMost = Unknown, a.Bound, a.Hold, a.Hold
	}
	if a.AtMost <= a.Cost && a.Provenance == Estimated {
		a.AtMost = 0
	}
	a.SetCharge(&a.Settlement)
	return a
}

// TestChargeOfCorrections checks, for random rows and corrections, that a charge is never below 0 nor above its bound,
// that with a markup it follows from the cost, that a resolved attempt has no bound left, that it is never more than
// the hold, and that without a list the charge equals the cost.
func TestChargeOfCorrections(t *testing.T) {
	t.Parallel()
	const seed = 20
	r := rand.New(rand.NewPCG(seed, 3))
	for run := range 20_000 {
		var terms *charge.Terms
		if run%5 != 0 {
			terms = &charge.Terms{Markup: charge.Markup(r.Int32N(30_000) - 10_000)}
		}
		if run%5 > 2 {
			terms.Price = llm.Price{Version: "own"}
			terms.Price.Rates[llm.Input], terms.Price.Rates[llm.Output] = llm.RateOf(r.Int64N(1_000_000)), llm.RateOf(r.Int64N(1_000_000))
		}
		a := randomRow(r, terms)
		if a.Charged() > a.MostCharged() {
			t.Fatalf("seed %d, run %d: charged at most %s, and held %s", seed, run, a.Charged(), a.MostCharged())
		}
		for range r.IntN(4) {
			held := a.Charged()
			c := randomCorrection(r, a)
			if c.Kind == "" {
				continue
			}
			a.Corrections = append(a.Corrections, c)
			_, cost := a.Corrected()
			margin, uncertain := a.Margin()
			charged, most := cost+margin, cost+margin+a.Uncertain()+uncertain
			switch {
			case charged < 0 || most < charged:
				t.Fatalf("seed %d, run %d: charged %s, at most %s, by %+v", seed, run, charged, most, c)
			case terms == nil && (margin != 0 || uncertain != 0):
				t.Fatalf("seed %d, run %d: a margin of %s and %s without a list", seed, run, margin, uncertain)
			case terms != nil && !terms.Own() && charged != terms.Markup.Of(cost):
				t.Fatalf("seed %d, run %d: charged %s for %s", seed, run, charged, cost)
			case c.Kind == CorrectionResolved && most != charged:
				t.Fatalf("seed %d, run %d: resolved, and charged %s, at most %s", seed, run, charged, most)
			case c.Kind == CorrectionResolved && len(a.Corrections) == 1 && charged > held:
				t.Fatalf("seed %d, run %d: resolved by a rule at %s, above %s", seed, run, charged, held)
			}
			if usage, _ := a.Corrected(); usage.IsZero() && cost == 0 && charged != 0 {
				t.Fatalf("seed %d, run %d: released, and charged %s", seed, run, charged)
			}
		}
	}
}

// randomCorrection returns a valid one for the row; without a kind for none.
func randomCorrection(r *rand.Rand, a *Row) Correction {
	if a.Unseen() && r.IntN(2) == 0 {
		return []Rule{RuleAtMost, RuleEstimate, RuleRelease}[r.IntN(3)].Resolve(a)
	}
	if a.Usage.IsZero() {
		return Correction{}
	}
	_, cost := a.Corrected()
	ask := Correct{Amount: llm.Money(r.Int64N(1000)) - min(cost, 500), Reason: "x"}
	c, err := ask.Correction(a)
	if err != nil {
		return Correction{}
	}
	return c
}

// TestChargeOfLaterReports checks that a provider's later report also decides the charge: by the usage at a price of
// the account's own.
func TestChargeOfLaterReports(t *testing.T) {
	t.Parallel()
	own := llm.Price{Version: "own"}
	own.Rates[llm.Input], own.Rates[llm.Output] = 1_000_000, 2_000_000
	for _, terms := range []*charge.Terms{nil, {Markup: 5000}, {Markup: 5000, Price: own}} {
		a := &Row{}
		a.Terms, a.Price = terms, llm.Price{Version: "v"}
		a.Price.Rates[llm.Input], a.Price.Rates[llm.Output] = 150_000, 600_000
		a.Bound = llm.Usage{llm.Input: 1000, llm.Output: 1000}
		a.Hold = a.Price.Bound(&a.Bound)
		a.ChargeHold = terms.Bound(a.Hold, &a.Price, &a.Bound, "")
		a.Outcome, a.Provenance, a.AtMost, a.Opened = OutcomeCut, Estimated, a.Hold, time.Now()
		a.SetCharge(&a.Settlement)
		told := llm.Reply{Usage: llm.Usage{llm.Input: 10, llm.Output: 20}, Tier: "default"}
		c, ok := a.Tell(&told, false)
		if !ok {
			t.Fatalf("%+v: the provider's report decides nothing", terms)
		}
		a.Corrections = []Correction{c}
		_, cost := a.Corrected()
		margin, uncertain := a.Margin()
		want := terms.Charge(cost, &a.Price, &told.Usage, "")
		if got := cost + margin; got != want || c.Kind == CorrectionResolved && uncertain != 0 {
			t.Errorf("%+v: charged %s and %s uncertain, want %s", terms, got, uncertain, want)
		}
	}
}

// TestMarksInJournal checks that the marks of a charge are decoded as encoded, including none, and that a settlement
// without them has the same bytes as before their introduction.
func TestMarksInJournal(t *testing.T) {
	t.Parallel()
	id := AttemptID{Request: uuid.UUID{1}, N: 1}
	s := Settlement{Outcome: OutcomeOK, Provenance: Exact, Unpriced: llm.Classes(0).With(llm.Input), Margin: 5}
	_, before, _ := readFrame(appendSettle(nil, id, &s))
	if _, back, err := decodeSettle(before, nil); err != nil || back.ChargeUnpriced != nil || back.UnpricedCharge() != s.Unpriced {
		t.Errorf("without marks of its own: got %+v, %v; want those of the cost", back, err)
	}
	for _, marks := range []llm.Classes{0, llm.Classes(0).With(llm.Maps).With(llm.Output)} {
		s.ChargeUnpriced = &marks
		_, payload, _ := readFrame(appendSettle(nil, id, &s))
		_, back, err := decodeSettle(payload, nil)
		if err != nil || !cmp.Equal(back, s) || back.UnpricedCharge() != marks {
			t.Errorf("%v: got %+v, %v; want %+v", marks.Names(), back, err, s)
		}
	}
}

// ownTokens returns a price of an account's own with a rate for all tokens, $1 a million.
func ownTokens() llm.Price {
	p := llm.Price{Version: "list/p/m#1"}
	for class := range llm.NumTokens {
		p.Rates[class] = 1_000_000
	}
	return p
}

// TestMarksOfCharges checks the marks of the charge if a part of the cost is unknown, and the reverse.
func TestMarksOfCharges(t *testing.T) {
	t.Parallel()
	own, list := &charge.Terms{Price: ownTokens()}, llm.Price{Version: "v"}
	list.Rates[llm.Input], list.Rates[llm.Output] = 2_000_000, 2_000_000
	free := llm.Price{Version: "free"}
	free.Rates[llm.Input], free.Rates[llm.Output] = llm.Free, llm.Free
	tokens, searched := llm.Usage{llm.Input: 10, llm.Output: 5, llm.Requests: 1}, llm.Usage{llm.Input: 10, llm.Output: 5, llm.Requests: 1, llm.Searches: 1}
	for _, tt := range []struct {
		name     string
		terms    *charge.Terms
		price    llm.Price
		billed   bool
		s        Settlement
		charge   llm.Money
		most     llm.Money
		ofCost   bool // a part of it has no price
		ofCharge bool
	}{
		{"no list and no price", nil, llm.Price{}, false, Settlement{Provenance: Exact, Usage: tokens}, 0, 0, true, true},
		{"a markup and no price", &charge.Terms{Markup: 1000}, llm.Price{}, false, Settlement{Provenance: Exact, Usage: tokens}, 0, 0, true, true},
		{"nothing is charged", &charge.Terms{Markup: charge.MinMarkup}, llm.Price{}, false, Settlement{Provenance: Exact, Usage: tokens}, 0, 0, true, false},
		{"an own price alone", own, llm.Price{}, false, Settlement{Provenance: Exact, Usage: tokens}, 15_000, 15_000, true, false},
		{"an own price alone, no end seen", own, llm.Price{}, false, Settlement{Provenance: Estimated, Usage: tokens}, 15_000, 300_000, true, false},
		{"an own price, the provider free, no end seen", own, free, false, Settlement{Provenance: Estimated, Usage: tokens}, 15_000, 300_000, false, false},
		{"an own price alone, and a search", own, llm.Price{}, false, Settlement{Provenance: Exact, Usage: searched}, 15_000, 15_000, true, true},
		{"both, and a search", own, list, false, Settlement{Provenance: Exact, Usage: searched}, 15_000, 300_000, true, true},
		{"the provider charges more", own, list, false, Settlement{Provenance: Exact, Usage: tokens, ProviderCost: new(llm.Money(90_000))}, 15_000, 15_000, false, false},
		{"the provider's figure, and a search", own, list, true, Settlement{Provenance: Exact, Usage: searched, ProviderCost: new(llm.Money(90_000))}, 15_000, 15_000, false, true},
		{"an unknown outcome", own, llm.Price{}, false, Settlement{Provenance: Unknown, Outcome: OutcomeUnknown}, 300_000, 300_000, false, false},
	} {
		a := Attempt{Terms: tt.terms, Price: tt.price, BillByProvider: tt.billed, Bound: llm.Usage{llm.Input: 200, llm.Output: 100}}
		a.Hold = a.Price.Bound(&a.Bound)
		a.ChargeHold = a.Terms.Bound(a.Hold, &a.Price, &a.Bound, "")
		h := &Hold{attempt: a}
		s := tt.s
		h.price(&s)
		if s.Charge() != tt.charge || s.Charged() != tt.most || (s.Unpriced != 0) != tt.ofCost || (s.UnpricedCharge() != 0) != tt.ofCharge {
			t.Errorf("%s: charged %s, at most %s, without %v and %v; want %s, %s, %t, %t", tt.name, s.Charge(), s.Charged(),
				s.Unpriced.Names(), s.UnpricedCharge().Names(), tt.charge, tt.most, tt.ofCost, tt.ofCharge)
		}
		if told := h.chargeOf(&s); (told == nil) != tt.ofCharge && tt.s.Provenance != Unknown || told != nil && *told != tt.charge {
			t.Errorf("%s: the client got %v, want %s or nothing", tt.name, told, tt.charge)
		}
		if tt.terms == nil && s.ChargeUnpriced != nil {
			t.Errorf("%s: the row grows", tt.name)
		}
	}
}

// TestMarksOfCorrections checks which corrections decide the cost of unpriced usage, and their effect on a priced
// charge.
func TestMarksOfCorrections(t *testing.T) {
	t.Parallel()
	row := func(terms *charge.Terms, p Provenance) *Row {
		a := &Row{}
		a.Terms, a.Outcome, a.Provenance, a.Usage = terms, OutcomeOK, p, llm.Usage{llm.Input: 10, llm.Output: 5}
		a.Bound = llm.Usage{llm.Input: 200, llm.Output: 100}
		a.ChargeHold = a.Terms.Bound(0, &a.Price, &a.Bound, "")
		a.Unpriced = a.Price.Unpriced(&a.Usage, "")
		a.SetCharge(&a.Settlement)
		return a
	}
	amount := func(usd llm.Money) func(*Row) Correction {
		return func(a *Row) Correction {
			ask := Correct{Amount: usd, Reason: "bill"}
			c, err := ask.Correction(a)
			if err != nil {
				t.Errorf("%+v: %v", ask, err)
			}
			return c
		}
	}
	rule := func(r Rule) func(*Row) Correction { return func(a *Row) Correction { return r.Resolve(a) } }
	own, markup := &charge.Terms{Price: ownTokens()}, &charge.Terms{Markup: 5000}
	for _, tt := range []struct {
		name           string
		terms          *charge.Terms
		provenance     Provenance
		make           func(*Row) Correction
		charge, most   llm.Money
		unpriced       bool // the cost still is
		chargeUnpriced bool
	}{
		{"no list, an amount", nil, Exact, amount(100), 100, 100, false, false},
		{"no list, free", nil, Exact, amount(0), 0, 0, false, false},
		{"a markup, an amount", markup, Exact, amount(100), 150, 150, false, false},
		{"an own price, an amount", own, Exact, amount(100), 15_000, 15_000, false, false},
		{"an own price, no end seen, an amount", own, Estimated, amount(100), 15_000, 300_000, false, false},
		{"an own price, by the estimate", own, Estimated, rule(RuleEstimate), 15_000, 15_000, true, false},
		{"an own price, by the bound", own, Estimated, rule(RuleAtMost), 300_000, 300_000, true, false},
		{"an own price, released", own, Estimated, rule(RuleRelease), 0, 0, false, false},
		{"a markup, by the estimate", markup, Estimated, rule(RuleEstimate), 0, 0, true, true},
		{"by hand", markup, Estimated, func(a *Row) Correction { return a.ResolveAt(100) }, 150, 150, false, false},
	} {
		a := row(tt.terms, tt.provenance)
		a.Corrections = []Correction{tt.make(a)}
		_, cost := a.Corrected()
		margin, uncertain := a.Margin()
		ofCost, ofCharge := a.LeftUnpriced()
		if got, most := cost+margin, cost+margin+a.Uncertain()+uncertain; got != tt.charge || most != tt.most || (ofCost != 0) != tt.unpriced || (ofCharge != 0) != tt.chargeUnpriced {
			t.Errorf("%s: charged %s, at most %s, without %v and %v; want %s, %s, %t, %t", tt.name, got, most, ofCost.Names(),
				ofCharge.Names(), tt.charge, tt.most, tt.unpriced, tt.chargeUnpriced)
		}
		ask := Correct{Reason: "again"}
		if _, err := ask.Correction(a); (err == nil) != (tt.unpriced || tt.chargeUnpriced) {
			t.Errorf("%s, then by nothing: got %v", tt.name, err)
		}
	}
}

// TestMarginOfAnAssumedPrice checks the amount that budgets count for an attempt with known usage and an assumed price:
// the price with its margin; with a price list the charge of that, and at a price of the account's own the charge
// itself, which is certain.
func TestMarginOfAnAssumedPrice(t *testing.T) {
	t.Parallel()
	assumed := llm.Price{Version: "seller#1", Basis: llm.BasisSeller, Modes: []llm.Mode{}}
	assumed.Rates[llm.Input], assumed.Rates[llm.Output] = 4_000_000, 20_000_000
	assumed = assumed.WithMargin(1500)
	own := llm.Price{Version: "list#1"}
	own.Rates[llm.Input], own.Rates[llm.Output] = 1_000_000, 1_000_000
	const cost, most = 600_000_000, 900_000_000 // 100,000 tokens in, 10,000 out
	told := llm.Money(500_000_000)
	for _, tt := range []struct {
		name       string
		terms      *charge.Terms
		told       *llm.Money
		cost       llm.Money
		atMost     llm.Money
		charged    llm.Money // at most, as budgets count it
		provenance Provenance
	}{
		{"the cost", nil, nil, cost, most, most, Assumed},
		{"a markup", &charge.Terms{Markup: 1000}, nil, cost, most, most / 10 * 11, Assumed},
		{"a price of the account's own", &charge.Terms{Price: own}, nil, cost, most, 110_000_000, Assumed},
		{"what the provider says", nil, &told, told, 0, told, Exact},
		{"a markup on what the provider says", &charge.Terms{Markup: 1000}, &told, told, 0, told / 10 * 11, Exact},
	} {
		h := &Hold{attempt: Attempt{Price: assumed, Terms: tt.terms, BillByProvider: true, Bound: llm.Usage{llm.Input: 200_000, llm.Output: 20_000}}}
		h.attempt.Hold = assumed.Bound(&h.attempt.Bound)
		h.attempt.ChargeHold = tt.terms.Bound(h.attempt.Hold, &assumed, &h.attempt.Bound, "")
		s := Settlement{Outcome: OutcomeOK, Provenance: Exact, Usage: llm.Usage{llm.Input: 100_000, llm.Output: 10_000}, ProviderCost: tt.told}
		h.price(&s)
		if s.Cost != tt.cost || s.AtMost != tt.atMost || s.Charged() != tt.charged || s.Provenance != tt.provenance {
			t.Errorf("%s: got $%s, at most $%s, %s, and $%s counts; want $%s, $%s, %s, $%s", tt.name, s.Cost, s.AtMost, s.Provenance, s.Charged(),
				tt.cost, tt.atMost, tt.provenance, tt.charged)
		}
	}
}
