package gateway

import (
	"errors"

	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/quote"
)

// affordCounted reserves an amount for an attempt after its fine bound was refused, using the provider's own count of
// tokens. It calls the provider once per request, and only if the smallest possible count would fit into the budget.
// Without a count it returns the error of the fine bound.
func (a *attempt) affordCounted(budgets []budget.Budget, inputs *quote.Inputs, refused error) error {
	by := a.Target.Provider.Counts(a.Speaks)
	if by == nil || !a.mayCount || !a.MayCount(inputs) || a.plan.Unavailable(a.in.server.now()) {
		return refused
	}
	demand := a.Demand(inputs, quote.Counted)
	least, _ := demand.Amounts()
	if x, ok := errors.AsType[*budget.Exceeded](refused); !ok || least > x.Left {
		return refused
	}
	tokens, err := a.countThere()
	if err != nil {
		return refused
	}
	inputs.TakeCount(tokens, by)
	return a.affordAs(budgets, inputs, quote.Counted)
}

// countThere lets the provider count the tokens of the attempt's body.
func (a *attempt) countThere() (int64, error) {
	in, p := a.in, a.Target.Provider
	a.mayCount = false
	if err := a.build(); err != nil {
		return 0, err
	}
	a.counted = in.server.now()
	tokens, err := p.Count(in.r.Context(), provider.Call{
		Dialect: a.Speaks, Op: llm.OpChat, Model: a.Target.Model, Body: a.body, Header: a.Passed(), Key: a.Target.Key,
	}, in.principal.Key().ID)
	in.server.metrics.Counted(p.Name(), err == nil)
	if err != nil {
		in.server.log.Debug("the provider did not count the tokens of a request",
			"request", in.id.text, "provider", p.Name(), "err", err)
	}
	return tokens, err
}
