package store_test

import (
	"pgregory.net/rapid"

	"weir/internal/charge"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/report"
)

// ownPrice is the account's own price in the model, which has no rate for searches.
func ownPrice() llm.Price {
	return llm.Price{Version: "list/p/m#1", Rates: llm.Rates{llm.Input: 90_000, llm.Output: 1_300_000}}
}

// drawTerms gives an attempt of the account a terms by a random price list; the account b has none.
func drawTerms(rt *rapid.T, a *ledger.Attempt) {
	if a.Account != "a" || rapid.IntRange(0, 3).Draw(rt, "list") == 0 {
		return
	}
	a.Terms = &charge.Terms{Markup: charge.Markup(rapid.IntRange(-10_000, 30_000).Draw(rt, "markup"))}
	if rapid.Bool().Draw(rt, "own price") {
		a.Terms.Price = ownPrice()
	}
	a.ChargeHold = a.Terms.Bound(a.Hold, &a.Price, &a.Bound, "")
}

// made is a correction that the model makes of an attempt, which counts from then on.
func (m *machine) made(e *ledger.Entry, make func(*ledger.Row) ledger.Correction) {
	row := &ledger.Row{Entry: *e, Corrections: m.corrections[e.ID]}
	m.corrections[e.ID] = append(m.corrections[e.ID][:len(row.Corrections):len(row.Corrections)], make(row))
}

// charge is what the account is charged for an attempt, and what that may come to beyond it. With a markup it follows
// from what the attempt cost in the end; at an own price it is what its corrections add up to.
func (m *machine) charge(e *ledger.Entry) (charged, uncertain llm.Money) {
	delta := m.corrected[e.ID]
	cost, left := e.Cost+delta.Cost, e.MostCost()-e.Cost+delta.AtMost
	switch {
	case e.Terms == nil:
		return cost, left
	case !e.Terms.Own() && e.Provenance != ledger.Unknown:
		charged = e.Terms.Markup.Of(cost)
		return charged, e.Terms.Markup.Of(cost+left) - charged
	}
	row := ledger.Row{Entry: *e, Corrections: m.corrections[e.ID]}
	margin, more := row.Margin()
	return cost + margin, left + more
}

// totalsOf adds up entries.
func totalsOf(uses []report.Use) (t report.Totals) {
	for i := range uses {
		u := &uses[i]
		t.Add(&report.Totals{Tokens: u.Usage.TotalTokens(), Requests: u.Requests, Cost: u.Cost, Uncertain: u.Uncertain, Unpriced: u.Unpriced, Margin: u.Margin})
	}
	return t
}
