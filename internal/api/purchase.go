package api

import (
	"weir/internal/llm"
	"weir/internal/report"
)

// purchaseView is what providers charge for what an account with a price list is charged a cost for. Operators alone see
// it; of other accounts it is the cost and left out.
type purchaseView struct {
	PurchaseUSD      *string `json:"purchase_usd,omitempty"`
	PurchaseMax      *string `json:"purchase_at_most_usd,omitempty"` // purchase_usd where that is known
	PurchaseUnpriced *bool   `json:"purchase_unpriced,omitempty"`    // some of it has no price and adds 0 to purchase_usd
}

// purchaseOf is what providers charge, where an account is charged so much and so much beyond it at most, and so many attempts
// have no price in that.
func purchaseOf(m *report.Margin, cost, uncertain llm.Money, unpriced int64) purchaseView {
	bought, atMost := m.Purchase(cost, uncertain)
	return purchaseView{new(bought.String()), new(atMost.String()), new(m.PurchaseUnpriced(unpriced) > 0)}
}

// seesPurchase reports whether the caller sees what providers charge beside what the account is charged.
func (r *adminRequest) seesPurchase() bool {
	return r.visit.Operator() && len(r.visit.Account.PriceLists) > 0
}

// viewRequest is a request as the caller may see it.
func (r *adminRequest) viewRequest(x *report.Request) requestView {
	v := viewRequest(x)
	if r.seesPurchase() {
		v.purchaseView = purchaseOf(&x.Margin, x.Cost, x.AtMost-x.Cost, 0)
		v.PurchaseUnpriced = new(x.PurchaseUnpriced != 0)
	}
	return v
}
