package admin

import (
	"context"
	"log/slog"
	"time"

	"weir/internal/account"
	"weir/internal/config"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/plan"
	"weir/internal/report"
	"weir/internal/route"
	"weir/internal/store"
	"weir/internal/upstream"
)

const (
	// planDays is the default number of days to replay, and mostPlanDays the maximum.
	planDays, mostPlanDays = 7, 92
	// mostPlanned bounds the attempts of a replay.
	mostPlanned = 2_000_000
)

// Plans replays recorded requests under changes.
type Plans struct {
	configuration *Configuration
	accounts      *account.Service
	store         *store.DB
	running       chan struct{} // holds the running plan
}

func newPlans(c *Configuration, accounts *account.Service, db *store.DB) *Plans {
	return &Plans{c, accounts, db, make(chan struct{}, 1)}
}

// Ask replays the requests of the last days under a change.
func (p *Plans) Ask(ctx context.Context, a plan.Ask) (r plan.Result, err error) {
	change, err := documentOf(&a.Change)
	if err == nil {
		r, err = p.plan(ctx, change, &a)
	}
	return r, refusedEdit(err)
}

func (p *Plans) plan(ctx context.Context, change config.Document, a *plan.Ask) (r plan.Result, err error) {
	if a.Days == 0 {
		a.Days = planDays
	}
	if a.Days < 1 || a.Days > mostPlanDays {
		return r, llm.Invalidf("days", "A plan covers 1 to %d days.", mostPlanDays)
	}
	leave, err := enter(p.running, llm.CodeOverloaded, "Another plan is running. Try again when it is done.")
	if err != nil {
		return r, err
	}
	defer leave()
	before, after, files, err := p.configuration.planned(ctx, change, &a.Change)
	if err != nil {
		return r, err
	}
	err = p.configuration.try(ctx, before, func(b *upstream.Builder, now *route.Table) error {
		state, err := p.state(ctx, b.Config(), now)
		if err != nil || len(change) == 0 && len(a.Change.Remove) == 0 && !a.Change.Prune {
			if err == nil {
				r, err = p.replay(ctx, &state, &state, a)
			}
			return err
		}
		return p.configuration.tryWith(ctx, files, after, func(b *upstream.Builder, then *route.Table) error {
			changed := state
			changed.Policy, changed.Table, changed.Aliases = PolicyOf(b.Config()), then, aliasesOf(before, after)
			r, err = p.replay(ctx, &state, &changed, a)
			return err
		})
	})
	return r, err
}

// aliasesOf returns the names of the aliases that differ.
func aliasesOf(before, after config.Document) map[string]bool {
	names := map[string]bool{}
	for _, c := range before.Changes(after) {
		if c.Section == "aliases" {
			names[c.Name] = true
		}
	}
	return names
}

// state returns the present state, with that configuration.
func (p *Plans) state(ctx context.Context, cfg *config.Config, table *route.Table) (s plan.State, err error) {
	s = plan.State{
		Accounts: map[string]*account.Account{}, Keys: map[string]*account.Key{}, Policy: PolicyOf(cfg), Table: table,
	}
	accounts, err := p.accounts.Accounts(ctx)
	for i := range accounts {
		if err != nil {
			return s, err
		}
		a := &accounts[i]
		s.Accounts[a.ID] = a
		var keys []account.Key
		keys, err = p.accounts.Keys(ctx, a.ID)
		for k := range keys {
			s.Keys[keys[k].ID] = &keys[k]
		}
	}
	return s, err
}

func (p *Plans) replay(ctx context.Context, now, then *plan.State, a *plan.Ask) (plan.Result, error) {
	changed, err := then.With(&a.Scopes)
	if err != nil {
		return plan.Result{}, err
	}
	year, month, day := p.store.Now().UTC().Date()
	from := time.Date(year, month, day-a.Days+1, 0, 0, 0, 0, time.UTC)
	return plan.Make(ctx, plan.Options{
		Now: *now, Then: changed, From: from, Most: mostPlanned, Decided: a.Decided,
		Log: slog.New(slog.DiscardHandler), Spent: p.store.Ledger.SpentOn,
		WithoutRows: p.store.Ledger.SpentWithoutRows,
		Attempts: func(ctx context.Context, fn func(*ledger.Entry) error) error {
			return p.store.Reports.Export(ctx, report.ExportQuery{From: from.Format(time.DateOnly)},
				func(e *report.Exported) error { return fn(&e.Entry) })
		},
	})
}
