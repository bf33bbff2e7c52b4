package report

import (
	"weir/internal/ledger"
	"weir/internal/llm"
)

// Margin is how much of a cost and of what is uncertain is charged beyond what providers charge, and how many more attempts
// have no price in what is charged than in what providers charge; 0 where an account has no
// price list. It is for operators alone: costs are everywhere what the account is charged.
type Margin struct {
	Margin          llm.Money
	MarginUncertain llm.Money
	MarginUnpriced  int64
}

func (m *Margin) add(o Margin) {
	m.Margin += o.Margin
	m.MarginUncertain += o.MarginUncertain
	m.MarginUnpriced += o.MarginUnpriced
}

// Purchase is what providers charge, and at most, for what an account is charged a cost and an uncertain amount beyond it.
func (m *Margin) Purchase(cost, uncertain llm.Money) (bought, atMost llm.Money) {
	bought = cost - m.Margin
	return bought, bought + uncertain - m.MarginUncertain
}

// PurchaseUnpriced is how many attempts have no price of their providers', where so many have none in what is charged.
func (m *Margin) PurchaseUnpriced(ofCharge int64) int64 { return ofCharge - m.MarginUnpriced }

// Bought is what providers charge, for operators.
func (u *Use) Bought() llm.Money { return u.Cost - u.Margin.Margin }

// Bought is what providers charge, for operators.
func (r *Request) Bought() llm.Money { return r.Cost - r.Margin.Margin }

// HideCost leaves of an attempt what its account may see: what it is charged for it in place of the cost, by its own
// price where it has one. An attempt without terms stays as it is. Lines are filled in anew.
func (a *Attempt) HideCost() {
	t := a.Terms
	if t == nil {
		return
	}
	charged, most := a.Charge(), a.Charged()
	a.Hold, a.Cost, a.AtMost = a.MostCharged(), charged, 0
	if most > charged {
		a.AtMost = most
	}
	for i := range a.Corrections {
		c := &a.Corrections[i]
		c.Cost, c.Uncertain = c.Cost+c.Margin, c.Uncertain+c.MarginUncertain
		c.Margin, c.MarginUncertain = 0, 0
		c.Priced = c.Priced && a.UnpricedCharge() != 0
	}
	a.Settlement.Margin, a.MarginUncertain = 0, 0
	a.Unpriced, a.ChargeUnpriced = a.UnpricedCharge(), nil
	a.ProviderCost, a.Billed, a.Terms, a.ChargeHold = nil, false, nil, 0
	a.Price = t.Price
	if !t.Own() {
		a.Price = llm.Price{Version: priceList}
	}
	a.explainCharge(t.Own())
}

// priceList stands for the version of a price that the account does not see.
const priceList = "list"

// explainCharge fills in the lines of a charge.
func (a *Attempt) explainCharge(own bool) {
	a.Lines, a.Tier = nil, 0
	var sum llm.Money
	if own && a.Provenance != ledger.Unknown {
		lines, _ := a.Price.Lines(&a.Usage, "")
		for _, l := range lines {
			if l.Rate.Known() {
				sum += l.Amount
				a.Lines = append(a.Lines, CostLine{LineUsage, l.Class, l.Count, l.Rate, l.Amount})
			}
		}
	}
	if rest := a.Cost - sum; rest != 0 {
		a.Lines = append(a.Lines, CostLine{What: LineCharge, Amount: rest})
	}
	for i := range a.Corrections {
		a.Lines = append(a.Lines, CostLine{What: LineCorrection, Amount: a.Corrections[i].Cost})
	}
}
