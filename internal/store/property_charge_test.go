package store_test

import (
	"fmt"

	"pgregory.net/rapid"

	"weir/internal/charge"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/report"
)

// ownPrice returns the account's own price of the model, which has no rate for searches.
func ownPrice() llm.Price {
	return llm.Price{Version: "list/p/m#1", Rates: llm.Rates{llm.Input: 90_000, llm.Output: 1_300_000}}
}

// drawTerms sets the terms of an attempt of the account a by a random price list; the account b has none.
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

// made returns a correction of an attempt that the model counts from then on.
func (m *machine) made(e *ledger.Entry, make func(*ledger.Row) ledger.Correction) {
	row := &ledger.Row{Entry: *e, Corrections: m.corrections[e.ID]}
	m.corrections[e.ID] = append(m.corrections[e.ID][:len(row.Corrections):len(row.Corrections)], make(row))
}

// charge returns the account's charge for an attempt, and its uncertainty. With a markup it follows from the attempt's
// final cost; at an own price it is the sum of its corrections.
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

// marks reports whether the cost and the charge of an attempt are unpriced, by classes one by one: an own price has all
// tokens and nothing else, and a charge with a markup is like the cost.
func (m *machine) marks(e *ledger.Entry) (ofCost, ofCharge bool) {
	if e.Outcome == "" || m.corrected[e.ID].Counts {
		return false, false
	}
	ofCost = e.Unpriced != 0
	switch {
	case e.Terms == nil:
		return ofCost, ofCost
	case e.Terms.Markup == charge.MinMarkup, e.Terms.Own() && e.Provenance == ledger.Unknown:
		return ofCost, false
	case !e.Terms.Own():
		return ofCost, ofCost
	}
	own, tokens := ownPrice(), false
	for c := range llm.NumTokens {
		tokens = tokens || e.Usage[c] > 0 && own.Rates[c].Known()
	}
	for c, n := range e.Usage {
		class := llm.Class(c)
		measured := class == llm.Requests || tokens && (class == llm.Images || class == llm.Characters || class == llm.Milliseconds)
		if n > 0 && !own.Rates[c].Known() && !measured && (!e.Price.Known() || !e.Price.Rates[c].Known()) {
			ofCharge = ofCharge || e.Unpriced.Has(class) || !e.Price.Known()
		}
	}
	return ofCost, ofCharge
}

func count(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// checkKeys compares the marks of each key's usage, the account's days and its usage with the model.
func (m *machine) checkKeys(rt *rapid.T, account string) {
	want, all := map[string]int64{}, int64(0)
	for _, id := range m.settled {
		if e := m.attempts[id]; e.Account == account {
			_, ofCharge := m.marks(&e)
			want[e.Key] += count(ofCharge)
			all += count(ofCharge)
		}
	}
	keys, err := m.store.Reports.KeySpend(rt.Context(), account, "2026-11-18", "2026-11-23", 1000)
	if err != nil {
		rt.Fatal(err)
	}
	for _, k := range keys {
		if k.Unpriced != want[k.Key] {
			rt.Fatalf("key %s of %s: got %d attempts without a price, want %d", k.Key, account, k.Unpriced, want[k.Key])
		}
	}
	v, err := m.store.Reports.Overview(rt.Context(), report.OverviewQuery{Account: account, From: "2026-11-18", To: "2026-11-23"})
	if err != nil || v.Total.Unpriced != all {
		rt.Fatalf("days of %s: got %d attempts without a price, %v; want %d", account, v.Total.Unpriced, err, all)
	}
	m.checkExport(rt, account)
}

// checkExport compares the marks of the exported attempts with the model.
func (m *machine) checkExport(rt *rapid.T, account string) {
	err := m.store.Reports.Export(rt.Context(), report.ExportQuery{Account: account}, func(x *report.Exported) error {
		e := m.attempts[x.ID]
		ofCost, ofCharge := m.marks(&e)
		if (x.Unpriced != 0) != ofCost || (x.UnpricedCharge() != 0) != ofCharge {
			return fmt.Errorf("exported attempt %s: got %v and %v without a price, want %t, %t", x.ID, x.Unpriced.Names(),
				x.UnpricedCharge().Names(), ofCost, ofCharge)
		}
		return nil
	})
	if err != nil {
		rt.Fatal(err)
	}
}

// totalsOf adds up entries.
func totalsOf(uses []report.Use) (t report.Totals) {
	for i := range uses {
		u := &uses[i]
		t.Add(&report.Totals{Tokens: u.Usage.TotalTokens(), Requests: u.Requests, Cost: u.Cost, Uncertain: u.Uncertain, Unpriced: u.Unpriced, Margin: u.Margin})
	}
	return t
}
