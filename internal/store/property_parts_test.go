package store_test

import (
	"slices"

	"pgregory.net/rapid"

	"weir/internal/budget"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// drawParts has an attempt count against budgets of some end users and tags.
func drawParts(rt *rapid.T, a *ledger.Attempt) (p budget.Parts) {
	for _, owner := range []int{budget.AccountPart, budget.KeyPart} {
		if a.Attribution.User != "" && rapid.Bool().Draw(rt, "counts for the user") {
			p = p.User(owner)
		}
		for place := range a.Attribution.Tags {
			if rapid.Bool().Draw(rt, "counts for the tag") {
				p = p.Tag(owner, place)
			}
		}
	}
	return p
}

// checkParts holds what parts have spent against the attempts that count against them.
func (m *machine) checkParts(rt *rapid.T) {
	want := map[string]llm.Money{}
	for id, e := range m.attempts {
		for _, scope := range e.PartScopes() {
			want[scope] += 0
			if !slices.Contains(m.settled, id) {
				continue
			}
			want[scope] += e.Charged()
			for _, c := range m.corrections[id] {
				want[scope] += c.Cost + c.Uncertain + c.Margin + c.MarginUncertain
			}
		}
	}
	for scope, amount := range want {
		got, err := m.store.Ledger.Spent(rt.Context(), scope, 0)
		if err != nil || got != amount {
			rt.Fatalf("spent by %s: got %v, %v; want %v", scope, got, err, amount)
		}
	}
}
