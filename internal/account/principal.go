package account

import (
	"fmt"
	"slices"
	"time"

	"weir/internal/budget"
	"weir/internal/llm"
)

// Principal is an authenticated caller. Its zero value, and nil, have no rights. Requests share Principals, so the
// values that it returns must not be changed.
type Principal struct {
	account *Account
	key     *Key
	budgets []budget.Budget
	terms   []listTerms // latest first; none if the account is charged the cost
}

// NewPrincipal returns the caller with a valid key.
func NewPrincipal(a *Account, k *Key) *Principal {
	return &Principal{account: a, key: k, budgets: budgetsOf(a, k), terms: termsOf(a)}
}

// budgetsOf returns the budgets that a key's requests count against. Credit acts as a budget for all time. If there is
// another budget for all time, the lower one applies.
func budgetsOf(a *Account, k *Key) (all []budget.Budget) {
	if b := a.Budget; b.Limit > 0 {
		all = append(all, budget.Budget{Scope: a.ID, Of: "account", Period: b.Period, Limit: b.Limit})
	}
	if a.Credit != nil {
		total := max(1, a.Credit.From+a.Credit.Paid) // a budget of 0 would mean no budget
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

// Budgets returns the budgets that a request of the caller counts against; empty without budgets.
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

// Account returns the caller's account; nil for the zero value.
func (p *Principal) Account() *Account {
	if p == nil {
		return nil
	}
	return p.account
}

// Key returns the caller's key; nil for the zero value.
func (p *Principal) Key() *Key {
	if p == nil {
		return nil
	}
	return p.key
}

// ContentPercent returns the percentage of the caller's requests whose content is logged, 0 to 100.
func (p *Principal) ContentPercent() int64 {
	if p == nil || p.account == nil || p.key == nil || p.key.NoContent {
		return 0
	}
	return p.account.ContentPercent
}

// AnswerCache returns the greatest age of stored answers to the key's requests; 0 for none.
func (p *Principal) AnswerCache() time.Duration {
	if p == nil || p.key == nil {
		return 0
	}
	return p.key.AnswerCache
}

// May returns nil if the caller has the permission, else a *llm.Error with CodeForbidden that names it.
func (p *Principal) May(permission Permission) error {
	if err := p.active(); err != nil {
		return err
	}
	if !slices.Contains(p.key.Permissions, permission) {
		return forbidden(fmt.Sprintf("This API key lacks the permission %q. Use a key that has it, or ask for it.",
			permission))
	}
	return nil
}

// MayAt returns nil if the key is valid at a path, else a *llm.Error with CodeAuthentication.
func (p *Principal) MayAt(path string) error {
	if err := p.active(); err != nil {
		return err
	}
	if at := p.key.Resource; at != "" && at != path {
		return llm.Errorf(llm.CodeAuthentication, "The access token is for %s only. Ask for one for %s.", at, path)
	}
	return nil
}

// MayUse returns nil if the key may use the model, else a *llm.Error with CodeForbidden that names the model. A pattern
// of the key is the name of a model or an alias; "*" in it matches any run of characters.
func (p *Principal) MayUse(model string) error {
	if err := p.active(); err != nil {
		return err
	}
	if p.uses(model) {
		return nil
	}
	return forbidden(fmt.Sprintf("This API key may not use the model %q. GET /v1/models lists those that it may use.",
		model))
}

// Uses reports whether MayUse returns nil.
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
		return forbidden("No API key was authenticated.")
	case p.account.Suspended:
		return forbidden("This account is suspended. Ask an operator of this gateway.")
	}
	return nil
}

func forbidden(message string) error {
	return &llm.Error{Code: llm.CodeForbidden, Message: message}
}
