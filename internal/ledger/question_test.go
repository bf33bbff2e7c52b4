package ledger

import (
	"testing"
	"time"

	"weir/internal/llm"
)

// TestTellSettlesUnknownCosts checks the cost of an attempt by its provider's later report, and the reports that decide
// nothing.
func TestTellSettlesUnknownCosts(t *testing.T) {
	t.Parallel()
	price := llm.Price{Version: "v", Rates: llm.Rates{llm.Input: 2_000, llm.CacheRead: 1_000, llm.CacheWrite: 3_000, llm.Output: 10_000}}
	price.Modes = []llm.Mode{{Name: "flex", Times: 500}, {Name: "container:1g", Rates: llm.Rates{llm.CodeSessions: 1000}}}
	said := func(cost llm.Money, tier string, u llm.Usage) *llm.Reply {
		return &llm.Reply{Usage: u, Reported: true, Tier: tier, ProviderCost: &cost}
	}
	used := llm.Usage{llm.Input: 100, llm.CacheRead: 20, llm.Output: 30} // 200 + 20 + 300 nano-dollars
	searched := used
	searched[llm.OtherTools] = 1
	ran := used
	ran[llm.CodeSessions] = 1
	thought := used
	thought[llm.Output] = 60
	dear := func(a *Row) { a.Price.Modes = append(a.Price.Modes[:2:2], llm.Mode{Name: "fast", Times: 2000}) }
	for _, tt := range []struct {
		name   string
		change func(*Row)
		said   *llm.Reply
		billed bool
		want   llm.Money // -1 if nothing is decided
		left   llm.Money // the possible additional cost, which leaves it unresolved
	}{
		{name: "by the price", said: said(400, "", used), want: 520},
		{name: "without a figure", said: &llm.Reply{Usage: used, Reported: true}, want: 520},
		{name: "at the provider's figure", said: said(400, "", used), billed: true, want: 400},
		{name: "more than the counts, which may leave out what was written to a cache", said: said(600, "", used), want: 600},
		{name: "more than the counts, where that costs no more", change: func(a *Row) { a.Price.Rates[llm.CacheWrite] = 2_000 }, said: said(600, "", used), want: 520, left: 80},
		{name: "more than the counts and the bound", change: func(a *Row) { a.Price.Rates[llm.CacheWrite] = 2_000 }, said: said(6000, "", used), want: 520, left: 5480},
		{name: "more by what may be rounded", change: func(a *Row) { a.Price.Rates[llm.CacheWrite] = 2_000 }, said: said(530, "", used), want: 520},
		{name: "above the bound", said: said(0, "", llm.Usage{llm.Input: 100, llm.Output: 3000}), want: 30_200},
		{name: "in a mode", said: said(0, "flex", used), want: 260},
		{name: "in the mode of the row", change: func(a *Row) { a.Tier = "flex" }, said: said(0, "", used), want: 260},
		{name: "in no tier that is told, where one costs more", change: dear, said: &llm.Reply{Usage: used, Reported: true}, want: 520, left: 520},
		{name: "in a tier that is left to the provider", change: dear, said: &llm.Reply{Usage: used, Reported: true, Tier: "auto"}, want: 520, left: 520},
		{name: "in the usual tier, as it is told", change: dear, said: &llm.Reply{Usage: used, Reported: true, Tier: "default"}, want: 520},
		{name: "in no tier that is told, with a figure", change: dear, said: said(520, "", used), want: 520},
		{name: "counts that contradict one another", said: &llm.Reply{Usage: used, Most: &thought, Reported: true}, want: 520, left: 300},
		{name: "in a mode without a price", said: said(9, "priority", used), want: -1},
		{name: "tools without a price", said: said(9, "", searched), want: -1},
		{name: "tools, at the provider's figure", said: said(9, "", searched), billed: true, want: 9},
		{name: "a container, of which nobody tells how long it lived", said: said(9, "container:1g", ran), want: -1},
		{name: "nothing went in", said: said(9, "", llm.Usage{llm.Output: 3}), want: -1},
		{name: "beyond belief", said: said(9, "", llm.Usage{llm.Input: 1 << 30}), want: -1},
		{name: "less than nothing", said: said(9, "", llm.Usage{llm.Input: -1}), want: -1},
		{name: "nothing used", said: said(0, "", llm.Usage{}), want: 0},
		{name: "exact", change: func(a *Row) { a.Provenance, a.AtMost = Exact, 0 }, said: said(9, "", used), want: -1},
		{name: "unknown", change: func(a *Row) { a.Provenance = Unknown }, said: said(9, "", used), want: -1},
		{name: "without a price", change: func(a *Row) { a.Price, a.AtMost = llm.Price{}, 0 }, said: said(9, "", used), billed: true, want: -1},
		{name: "corrected", change: func(a *Row) { a.Corrections = []Correction{{Kind: CorrectionAmount}} }, said: said(9, "", used), want: -1},
	} {
		a := Row{Entry: Entry{Attempt{Price: price}, Settlement{
			Outcome: OutcomeClientGone, Provenance: Estimated, Usage: llm.Usage{llm.Input: 90, llm.Output: 7, llm.Requests: 1}, Cost: 250, AtMost: 1000,
			Duration: time.Second,
		}}}
		if tt.change != nil {
			tt.change(&a)
		}
		c, ok := a.Tell(tt.said, tt.billed)
		if ok != (tt.want >= 0) {
			t.Errorf("%s: decided: %t", tt.name, ok)
		}
		if !ok {
			continue
		}
		a.Corrections = append(a.Corrections, c)
		usage, cost := a.Corrected()
		want := tt.said.Usage
		want[llm.Requests] = 1
		if cost != tt.want || usage != want || a.Uncertain() != tt.left || a.Resolved() != (tt.left == 0) {
			t.Errorf("%s: got a cost of %s, %s uncertain, resolved %t, and %v; want %s, %s and %v", tt.name, cost, a.Uncertain(), a.Resolved(), usage, tt.want, tt.left, want)
		}
	}
}
