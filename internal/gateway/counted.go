package gateway

import (
	"errors"

	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/quote"
)

// affordCounted reserves an amount for an attempt whose fine bound is refused, by what the provider counts. It is asked
// once a request, and only where the least that it may count would fit into the budget. The error is that of the fine
// bound where nothing was counted.
func (a *attempt) affordCounted(budgets []budget.Budget, inputs *quote.Inputs, refused error) error {
	c := a.call
	by := a.Target.Provider.Counts(a.Speaks)
	if by == nil || c.spent.counted || c.attempt != nil || !a.MayCount(inputs) || c.plan.Unavailable(c.server.now()) {
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

// countThere asks the provider how many tokens it counts of the attempt's body.
func (a *attempt) countThere() (int64, error) {
	c, p := a.call, a.Target.Provider
	c.spent.counted = true
	if err := c.held.inTurn(a.work(), a.makeBody); err != nil {
		return 0, err
	}
	c.measured.asked(c.server.now())
	tokens, err := p.Count(c.r.Context(), provider.Call{
		Dialect: a.Speaks, Op: llm.OpChat, Model: a.Target.Model, Body: a.body, Header: a.Passed(), Key: a.Target.Key,
	}, c.principal.Key().ID)
	c.server.metrics.Counted(p.Name(), err == nil)
	if err != nil {
		c.server.log.Debug("the tokens of a request were not counted", "request", c.id.text, "provider", p.Name(), "err", err)
	}
	return tokens, err
}
