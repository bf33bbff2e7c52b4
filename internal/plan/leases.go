package plan

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/llm"
)

// leases grants whole budgets to the replay, which acts as the only node. It is used by one goroutine.
type leases struct {
	options *Options
	budgets map[string][]budget.Budget // by scope
	// limits and budgets of end users and tag values, by the id of their account or key
	per    map[string][]account.Per
	unsure map[string]bool // scopes with spending at unknown times
}

func newLeases(o *Options, s *State) *leases {
	l := &leases{
		options: o, budgets: map[string][]budget.Budget{}, per: map[string][]account.Per{}, unsure: map[string]bool{},
	}
	for _, k := range s.Keys {
		a := s.Accounts[k.AccountID]
		if a == nil {
			continue
		}
		l.per[a.ID], l.per[k.ID] = a.Per, k.Per
		for _, b := range account.NewPrincipal(a, k).Budgets(&llm.Attribution{}) {
			if b.Scope == k.ID || l.budgets[a.ID] == nil || b.Scope == a.ID && len(l.budgets[a.ID]) < 2 {
				l.budgets[b.Scope] = append(l.budgets[b.Scope], b)
			}
		}
	}
	return l
}

// of returns the budgets of a scope.
func (l *leases) of(scope string) []budget.Budget {
	owner, part, ok := budget.PartOf(scope)
	if !ok {
		return l.budgets[scope]
	}
	b := account.PartBudget(l.per[owner], part)
	if b.Limit == 0 {
		return nil
	}
	return []budget.Budget{{Scope: scope, Period: b.Period, Limit: b.Limit}}
}

// Lease leases the whole budget.
func (l *leases) Lease(ctx context.Context, r budget.LeaseRequest) (got budget.Lease, err error) {
	for _, b := range l.of(r.Budget.Scope) {
		if b.Period == budget.PeriodOf(r.Budget.Period) {
			got.Limit, got.Granted = b.Limit, b.Limit
		}
	}
	first, last := budget.DaysOf(r.Budget.Period)
	before := budget.PeriodDay.Number(l.options.From.AddDate(0, 0, -1))
	if first <= before {
		got.Spent, err = l.options.Spent(ctx, r.Budget.Scope, first, min(last, before))
	}
	beside := llm.Money(0)
	if from := max(first, budget.PeriodDay.Number(l.options.From)); err == nil && from <= last {
		if first > before {
			from = first // the opening balance of a month is before its first day
		}
		beside, err = l.options.WithoutRows(ctx, r.Budget.Scope, from, last)
	}
	if err != nil {
		return got, fmt.Errorf("read the spending: %w", err)
	}
	got.Spent += beside
	l.unsure[r.Budget.Scope] = l.unsure[r.Budget.Scope] || beside != 0
	return got, nil
}

// Reconcile does nothing, because no lease has to be returned.
func (l *leases) Reconcile(context.Context, uuid.UUID) error { return nil }

// Beat reports that one node is alive.
func (l *leases) Beat(context.Context, budget.Node) (budget.Beat, error) {
	return budget.Beat{Alive: 1}, nil
}

// Leave does nothing, because no lease has to be returned.
func (l *leases) Leave(context.Context, uuid.UUID) error { return nil }

// clock is the time of a replay, which never goes back.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func (c *clock) forward(to time.Time) {
	if to.After(c.at) {
		c.at = to
	}
}
