package store_test

import (
	"maps"
	"slices"

	"pgregory.net/rapid"

	"weir/internal/budget"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/report"
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

// checkParts compares the spending of parts with the attempts that count against them.
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
	m.checkBeside(rt, slices.Concat([]string{"a", "b", "k", "l"}, slices.Sorted(maps.Keys(want))))
	for scope, amount := range want {
		got, err := m.store.Ledger.Spent(rt.Context(), scope, 0)
		if err != nil || got != amount {
			rt.Fatalf("spent by %s: got %v, %v; want %v", scope, got, err, amount)
		}
	}
}

// checkBeside compares the spending of scopes with the remaining rows and the amounts stored in addition to them.
func (m *machine) checkBeside(rt *rapid.T, scopes []string) {
	rows := map[string]llm.Money{}
	err := m.store.Reports.Export(rt.Context(), report.ExportQuery{}, func(e *report.Exported) error {
		for _, scope := range slices.Concat([]string{e.Account, e.Key}, e.PartScopes()) {
			rows[scope] += e.Charged()
		}
		return nil
	})
	if err != nil {
		rt.Fatal(err)
	}
	for _, scope := range scopes {
		spent, err := m.store.Ledger.Spent(rt.Context(), scope, 0)
		beside, also := m.store.Ledger.SpentWithoutRows(rt.Context(), scope, 0, 9999_99_99)
		if err != nil || also != nil || beside != spent-rows[scope] {
			rt.Fatalf("in addition to the rows of %s: got %v, %v, %v; want %v of %v", scope, beside, err, also, spent-rows[scope], spent)
		}
	}
}
