package route

import (
	"cmp"
	"time"

	"weir/internal/llm"
)

// ServedModel is the policy of an alias for answers of another model than the requested one.
type ServedModel string

// The policies.
const (
	AcceptServed ServedModel = "accept" // priced by the model that answered
	FlagServed   ServedModel = "flag"   // in addition, marked in the ledger and reported
	RefuseServed ServedModel = "refuse" // a failure: the next target is tried
)

// ServedPolicy returns the target's policy.
func (t *Target) ServedPolicy() ServedModel {
	if t.alias == nil {
		return FlagServed
	}
	return cmp.Or(t.alias.servedModel, FlagServed)
}

// Served judges a provider's name of the model that answered for the target, by the table's names and the prices of
// the time. Other reports that it is another model than the target's. The price replaces the target's: nil keeps it,
// because it is known and of the same model, or because the other model has none.
func (t *Target) Served(table *Table, model string, at time.Time) (other bool, price *llm.Price) {
	own := table.Price(t, at)
	other = !table.book.IsModel(t.Provider.Name(), t.Model, model)
	if !other && own.Known() && own.Basis == llm.BasisModel {
		return false, nil
	}
	served := *t
	served.Model = model
	if p := table.Price(&served, at); p.Known() && (other || p.Version != own.Version) {
		return other, &p
	}
	return other, nil
}
