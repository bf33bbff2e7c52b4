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

// PlanOptions says which requests to replay.
type PlanOptions struct {
	ApplyOptions
	Scopes  plan.Scopes
	Days    int                  // whole UTC days up to now, including today; 0 for a week
	Decided func(*plan.Decision) // see plan.Options
}

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

// Ask replays for the administration.
func (p *Plans) Ask(ctx context.Context, a plan.Ask) (plan.Result, error) {
	change, err := documentOf(&a.Change)
	if err != nil {
		return plan.Result{}, refusedEdit(err)
	}
	r, err := p.Plan(ctx, change, PlanOptions{
		ApplyOptions: p.configuration.applyOptions(), Scopes: a.Scopes, Days: a.Days,
	})
	return r, refusedEdit(err)
}

// Plan returns what a change would have done to the requests of the last days.
func (p *Plans) Plan(ctx context.Context, change config.Document, o PlanOptions) (r plan.Result, err error) {
	if o.Days == 0 {
		o.Days = planDays
	}
	if o.Days < 1 || o.Days > mostPlanDays {
		return r, llm.Invalidf("days", "A plan covers 1 to %d days.", mostPlanDays)
	}
	select {
	case p.running <- struct{}{}:
		defer func() { <-p.running }()
	default:
		return r, &llm.Error{
			Code: llm.CodeOverloaded, RetryAfter: time.Second,
			Message: "Another plan is running. Try again when it is done.",
		}
	}
	before, after, _, err := p.configuration.changed(ctx, change, &o.ApplyOptions)
	if err != nil {
		return r, err
	}
	err = tryDocument(ctx, before, o.ApplyOptions, func(b *upstream.Builder, now *route.Table) error {
		state, err := p.state(ctx, b.Config(), now)
		if err != nil || len(change) == 0 {
			if err == nil {
				r, err = p.replay(ctx, &state, &state, &o)
			}
			return err
		}
		return tryDocument(ctx, after, o.ApplyOptions, func(b *upstream.Builder, then *route.Table) error {
			changed := state
			changed.Policy, changed.Table, changed.Aliases = PolicyOf(b.Config()), then, aliasesOf(before, after)
			r, err = p.replay(ctx, &state, &changed, &o)
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

func (p *Plans) replay(ctx context.Context, now, then *plan.State, o *PlanOptions) (plan.Result, error) {
	changed, err := then.With(&o.Scopes)
	if err != nil {
		return plan.Result{}, err
	}
	year, month, day := p.store.Now().UTC().Date()
	from := time.Date(year, month, day-o.Days+1, 0, 0, 0, 0, time.UTC)
	return plan.Make(ctx, plan.Options{
		Now: *now, Then: changed, From: from, Most: mostPlanned, Decided: o.Decided,
		Log: slog.New(slog.DiscardHandler), Spent: p.store.Ledger.SpentOn,
		Beside: p.store.Ledger.SpentBeside,
		Attempts: func(ctx context.Context, fn func(*ledger.Entry) error) error {
			return p.store.Reports.Export(ctx, report.ExportQuery{From: from.Format(time.DateOnly)},
				func(e *report.Exported) error { return fn(&e.Entry) })
		},
	})
}
