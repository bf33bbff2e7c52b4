package quote

import (
	"weir/internal/ledger"
	"weir/internal/route"
)

// AsServed returns the answer with the provider's name of the model that answered, at that model's price.
func AsServed(a Answer) Answer {
	if a.model == "" || a.model == a.Target.Model {
		return a
	}
	a.by.Model = a.model
	a.by.Other, a.by.Price = a.Target.Served(a.table, a.model, a.Attempt.Arrived)
	if a.by.Price != nil {
		priced := *a.Attempt
		priced.Price = *a.by.Price
		a.Attempt = &priced
	}
	return a
}

// RefusedModel returns the name of the model that has answered in place of the requested one, if the alias refuses
// answers of other models; otherwise it is empty.
func RefusedModel(a Answer) string {
	if !a.by.Other || a.Target.ServedPolicy() != route.RefuseServed {
		return ""
	}
	return a.model
}

// recordServed records the model that answered. If that is another one without a known price, the usage is at the price
// of the requested model, which is an assumption.
func recordServed(a *Answer, s *ledger.Settlement) {
	s.Served = a.by
	isOther := a.by.Other && a.by.Price == nil && a.Attempt.Price.Known()
	if isOther && s.Provenance == ledger.Exact && !a.billed() {
		s.Provenance = ledger.Assumed
	}
	if a.Target.ServedPolicy() == route.AcceptServed {
		s.Served.Other = false
	}
}
