package app

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"weir/internal/llm"
	"weir/internal/outbound"
	"weir/internal/reconcile"
	"weir/internal/report"
	"weir/internal/route"
)

const (
	// reconcileWait bounds the questions to a provider, and reconcileAsk each of them.
	reconcileWait, reconcileAsk = 5 * time.Minute, time.Minute
	// reconcileDays is how many days are compared at most.
	reconcileDays = 366
	groupsPage    = 1000
)

// ReconcileOptions say what is compared.
type ReconcileOptions struct {
	ApplyOptions
	Provider string
	AdminKey llm.Secret
	From, To time.Time // days, both inclusive
}

// Reconciled is what came of it.
type Reconciled struct {
	Rows  []reconcile.Row
	Other llm.Money // what the provider charges for what is of no model
}

// Reconcile compares the ledger with what a provider reports.
func (d *Data) Reconcile(ctx context.Context, o ReconcileOptions) (r Reconciled, err error) {
	if days := int(o.To.Sub(o.From).Hours()/24) + 1; days < 1 || days > reconcileDays {
		return r, llm.Invalidf("start_date", "The days are 1 to %d, the first one not behind the last.", reconcileDays)
	}
	doc, err := d.managed(ctx)
	if err != nil {
		return r, err
	}
	var source *reconcile.Source
	var read reconcile.Read
	err = tryDocument(ctx, doc, o.ApplyOptions, func(_ *fleet, t *route.Table) error {
		p := t.Provider(o.Provider)
		if p == nil {
			return llm.Errorf(llm.CodeNotFound, "There is no provider %q. weir providers lists those that there are.",
				o.Provider)
		}
		if read = reconcile.Reader(p.PriceSource(), p.Dialect().Name); read == nil {
			return llm.Invalidf("provider", "%s does not report usage and costs in a way that is known here: OpenAI, "+
				"Anthropic and OpenRouter do.", o.Provider)
		}
		source = &reconcile.Source{BaseURL: p.BaseURL(), AdminKey: o.AdminKey}
		return nil
	})
	if err != nil {
		return r, err
	}
	transport, err := outbound.Transport(d.cfg.Outbound.Proxy.Reveal(), d.cfg.Outbound.CAFile, reconcileAsk)
	if err != nil {
		return r, err
	}
	defer transport.CloseIdleConnections()
	source.Client = &http.Client{
		Transport: transport, Timeout: reconcileAsk,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	ctx, cancel := context.WithTimeout(ctx, reconcileWait)
	defer cancel()
	theirs, err := read(ctx, source, o.From, o.To)
	if err != nil {
		return r, fmt.Errorf("ask %s what it charges: %w", o.Provider, err)
	}
	ours, err := d.boughtOf(ctx, &o)
	return Reconciled{reconcile.Compare(ours, &theirs), theirs.Other}, err
}

// boughtOf is what the ledger has of a provider, by day and model.
func (d *Data) boughtOf(ctx context.Context, o *ReconcileOptions) (map[reconcile.Place]reconcile.Ours, error) {
	q := report.UsesQuery{
		All: true, From: o.From.Format(time.DateOnly), To: o.To.Format(time.DateOnly), Limit: groupsPage,
		By: []report.Dimension{report.ByDay, report.ByModel},
	}
	all := map[reconcile.Place]reconcile.Ours{}
	for ; ; q.Offset += groupsPage {
		page, err := d.store.Reports.Uses(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range page.Uses {
			u := &page.Uses[i]
			name, model, _ := strings.Cut(*u.Group[1], "/")
			if name != o.Provider {
				continue
			}
			bought, most := u.Purchase(u.Cost, u.Uncertain)
			all[reconcile.Place{Day: *u.Group[0], Model: model}] = reconcile.Ours{
				Usage: reconcile.Usage{
					Input: u.Usage.InputTokens(), Cached: u.Usage[llm.CacheRead] + u.Usage[llm.CacheReadAudio],
					Output: u.Usage.OutputTokens(),
				},
				Cost: bought, Uncertain: most - bought,
			}
		}
		if len(page.Uses) < groupsPage {
			return all, nil
		}
	}
}
