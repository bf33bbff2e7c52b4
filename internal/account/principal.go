package account

import (
	"fmt"
	"slices"

	"weir/internal/budget"
	"weir/internal/llm"
)

// Principal is a caller whose key was found good. Its zero value, and nil, may
// do nothing. Many requests share one: what it gives out is read, not changed.
type Principal struct {
	account *Account
	key     *Key
	budgets []budget.Budget
	terms   []listTerms // the latest first; none where it is charged what it costs
}

// NewPrincipal is the holder of a key that was found good.
func NewPrincipal(a *Account, k *Key) *Principal {
	return &Principal{account: a, key: k, budgets: budgetsOf(a, k), terms: termsOf(a)}
}

// budgetsOf are the budgets that a key's requests count against. Credit is a
// budget for all time; with another one for all time the less of both.
func budgetsOf(a *Account, k *Key) (all []budget.Budget) {
	if b := a.Budget; b.Limit > 0 {
		all = append(all, budget.Budget{Scope: a.ID, Of: "account", Period: b.Period, Limit: b.Limit})
	}
	if a.Credit != nil {
		total := max(1, a.Credit.From+a.Credit.Paid) // a budget of 0 would be none
		if len(all) > 0 && all[0].Period == budget.PeriodTotal {
			all[0].Limit = min(all[0].Limit, total)
		} else {
			all = append(all, budget.Budget{Scope: a.ID, Of: "account", Period: budget.PeriodTotal, Limit: total})
		}
	}
	if b := k.Budget; b.Limit > 0 {
		all = append(all, budget.Budget{Scope: k.ID, Of: "API key", Period: b.Period, Limit: b.Limit})
	}
	return all
}

// Budgets are what a request of the caller counts against; none for no limit.
func (p *Principal) Budgets(a *llm.Attribution) []budget.Budget {
	if p == nil {
		return nil
	}
	all := slices.Clip(p.budgets)
	for _, part := range p.parts(a) {
		if b := part.per.Budget; b.Limit > 0 {
			all = append(all, budget.Budget{Scope: part.scope, Of: part.name(), Period: b.Period, Limit: b.Limit})
		}
	}
	return all
}

// Account is the caller's account; nil for the zero value.
func (p *Principal) Account() *Account {
	if p == nil {
		return nil
	}
	return p.account
}

// Key is the caller's key; nil for the zero value.
func (p *Principal) Key() *Key {
	if p == nil {
		return nil
	}
	return p.key
}

// May returns nil when the caller has the permission, and a *llm.Error with
// CodeForbidden that names what is missing otherwise.
func (p *Principal) May(permission Permission) error {
	if err := p.active(); err != nil {
		return err
	}
	if !slices.Contains(p.key.Permissions, permission) {
		return forbidden(fmt.Sprintf("This API key lacks the permission %q.", permission))
	}
	return nil
}

// MayUse returns nil when the key may use the model, and a *llm.Error with
// CodeForbidden that names the model otherwise. A pattern of the key is the
// name of a model or an alias; "*" in it stands for any run of characters.
func (p *Principal) MayUse(model string) error {
	if err := p.active(); err != nil {
		return err
	}
	if p.uses(model) {
		return nil
	}
	return forbidden(fmt.Sprintf("This API key may not use the model %q.", model))
}

// Uses reports whether MayUse returns nil, and UsesAll whether it does for every model.
func (p *Principal) Uses(model string) bool { return p.active() == nil && p.uses(model) }

// UsesAll reports whether the key may use every model.
func (p *Principal) UsesAll() bool { return p.active() == nil && len(p.key.Models) == 0 }

func (p *Principal) uses(model string) bool {
	return len(p.key.Models) == 0 ||
		slices.ContainsFunc(p.key.Models, func(pattern string) bool { return llm.Matches(pattern, model) })
}

func (p *Principal) active() error {
	switch {
	case p == nil || p.account == nil || p.key == nil:
		return forbidden("Nobody is signed in.")
	case p.account.Suspended:
		return forbidden("This account is suspended.")
	}
	return nil
}

func forbidden(message string) error {
	return &llm.Error{Code: llm.CodeForbidden, Message: message}
}
