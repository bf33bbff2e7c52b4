package api

import (
	"weir/internal/llm"
	"weir/internal/report"
)

// purchaseView holds the cost at the providers, for accounts with a price list. Only operators see it; for other
// accounts it equals the charge and is left out.
type purchaseView struct {
	PurchaseUSD *string `json:"purchase_usd,omitempty"`
	PurchaseMax *string `json:"purchase_at_most_usd,omitempty"` // equal to purchase_usd if the cost is known
	// some usage has no price and adds 0 to purchase_usd
	PurchaseUnpriced *bool `json:"purchase_unpriced,omitempty"`
}

// purchaseOf returns the cost at the providers for a charge, its uncertainty and its number of unpriced attempts.
func purchaseOf(m *report.Margin, cost, uncertain llm.Money, unpriced int64) purchaseView {
	bought, atMost := m.Purchase(cost, uncertain)
	return purchaseView{new(bought.String()), new(atMost.String()), new(m.PurchaseUnpriced(unpriced) > 0)}
}

// seesPurchase reports whether the caller sees the cost at the providers in addition to the account's charge.
func (r *adminRequest) seesPurchase() bool {
	return r.visit.Operator() && len(r.visit.Account.PriceLists) > 0
}

// viewRequest returns the view of a request for the caller.
func (r *adminRequest) viewRequest(x *report.Request) requestView {
	v := viewRequest(x)
	if r.seesPurchase() {
		v.purchaseView = purchaseOf(&x.Margin, x.Cost, x.AtMost-x.Cost, 0)
		v.PurchaseUnpriced = new(x.PurchaseUnpriced != 0)
	}
	return v
}
