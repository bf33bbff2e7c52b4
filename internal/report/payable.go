package report

import (
	"cmp"
	"slices"
	"strings"

	"weir/internal/llm"
)

// Currency is the currency of all amounts.
const Currency = "USD"

// cent is the unit of amounts to pay.
const cent = llm.USD / 100

// Payable returns the amount to pay for a charge: the nearest cent, half a cent away from zero. A negative amount is a
// credit note.
func Payable(charge llm.Money) llm.Money {
	half := cent / 2
	if charge < 0 {
		half = -half
	}
	return (charge + half) / cent * cent
}

// Payable returns the amount to pay, and by how much it differs from the sum of the lines.
func (s *Statement) Payable() (amount, rounding llm.Money) {
	all, _ := s.Totals()
	amount = Payable(all.Cost)
	return amount, amount - all.Cost
}

// Draft reports whether the statement is not closed.
func (s *Statement) Draft() bool { return s.Number == 0 }

// ByModel adds up the lines of each model, corrections included: the highest charge first.
func (s *Statement) ByModel() (models []StatementLine) {
	at := map[string]int{}
	for i := range s.Lines {
		l := &s.Lines[i]
		n, there := at[l.Model]
		if !there {
			n = len(models)
			at[l.Model], models = n, append(models, StatementLine{Model: l.Model})
		}
		m := &models[n]
		m.Requests += l.Requests
		m.Tokens += l.Tokens
		m.Charge += l.Charge
		m.Uncertain += l.Uncertain
		m.Unpriced += max(0, l.Unpriced)
	}
	slices.SortFunc(models, func(a, b StatementLine) int {
		return cmp.Or(cmp.Compare(b.Charge, a.Charge), strings.Compare(a.Model, b.Model))
	})
	return models
}
