package report

import (
	"weir/internal/ledger"
	"weir/internal/llm"
)

// Margin holds the differences between an account's charges and its providers' charges: of the cost, of the uncertain
// amount, and of the number of attempts without a price; 0 without a price list. Only operators see it. Everywhere
// else, cost means the account's charge.
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

// Purchase returns the providers' charge and its upper bound for an account's charge and its uncertain amount.
func (m *Margin) Purchase(cost, uncertain llm.Money) (bought, atMost llm.Money) {
	bought = cost - m.Margin
	return bought, bought + uncertain - m.MarginUncertain
}

// PurchaseUnpriced returns the number of attempts without a provider's price, given the number without a charge price.
func (m *Margin) PurchaseUnpriced(ofCharge int64) int64 { return ofCharge - m.MarginUnpriced }

// Bought returns the providers' charge, for operators.
func (u *Use) Bought() llm.Money { return u.Cost - u.Margin.Margin }

// Bought returns the providers' charge, for operators.
func (r *Request) Bought() llm.Money { return r.Cost - r.Margin.Margin }

// HideCost reduces an attempt to the facts that its account may see: the charge replaces the cost, at the account's own
// price if it has one. It does not change an attempt without terms. It fills in Lines again.
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
		a.Price = llm.Price{Version: PriceList}
	}
	a.explainCharge(t.Own())
}

// PriceList replaces the version of a price that the account may not see.
const PriceList = "list"

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
