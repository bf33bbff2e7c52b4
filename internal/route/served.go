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

// AnswerCache returns the greatest age of stored answers to requests for the target's alias; 0 for none.
func (t *Target) AnswerCache() time.Duration {
	if t.alias == nil {
		return 0
	}
	return t.alias.answerCache
}

// Served judges a provider's name of the model that answered for the target, by the table's names and the prices of
// the time. Other reports that it is another model than the target's. The price replaces the target's: nil keeps it,
// because it is known and of the same model, or because the other model has none. A server of the operator's names its
// model as it was configured: vLLM by the first of its names, whichever was requested
// (https://docs.vllm.ai/en/latest/cli/serve.html, --served-model-name, undated copy of 2026).
func (t *Target) Served(table *Table, model string, at time.Time) (other bool, price *llm.Price) {
	var own llm.Price
	other = !t.Provider.SelfHosted() && !table.book.IsModel(t.Provider.Name(), t.Model, model)
	if !other {
		if own = table.Price(t, at); own.Known() && own.Basis == llm.BasisModel {
			return false, nil
		}
	}
	served := *t
	served.Model = model
	p := table.Price(&served, at)
	isBetter := !own.Known() || p.Basis <= own.Basis && p.Version != own.Version
	if p.Known() && (other || isBetter) {
		return other, new(p)
	}
	return other, nil
}
