package app

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"weir/internal/config"
	"weir/internal/llm"
	"weir/internal/outbound"
	"weir/internal/provider"
	"weir/internal/reconcile"
	"weir/internal/report"
	"weir/internal/route"
	"weir/internal/store"
	"weir/internal/webhook"
)

const (
	// reconcileWait bounds the questions to a provider, and reconcileAsk each of them.
	reconcileWait, reconcileAsk = 5 * time.Minute, time.Minute
	// reconcileDays is how many days are compared at most.
	reconcileDays = 366
	groupsPage    = 1000
	// driftEvery is how often it is looked whether a day is to be compared, driftAfter how long after its end that is: by
	// then providers have it, and the whole day after it, on which they may count some of it.
	driftEvery, driftAfter = time.Hour, 32 * time.Hour
	// driftBack is how many days before that one are compared too, where no gateway ran in time, and driftKept for how
	// long it is known that a day was told of.
	driftBack, driftKept = 6, 40 * 24 * time.Hour
	// driftModels is how many models an event names.
	driftModels = 20
)

// ReconcileOptions say what is compared.
type ReconcileOptions struct {
	ApplyOptions
	Provider string
	AdminKey llm.Secret // zero for that of the configuration
	From, To time.Time  // days, both inclusive
	// Resolve has attempts resolved whose end nobody saw, where the provider's figures decide what they used. That is so
	// only where nothing else uses the provider's keys.
	Resolve bool
}

// Reconcile compares the ledger with what a provider reports.
func (d *Data) Reconcile(ctx context.Context, o ReconcileOptions) (r reconcile.Result, err error) {
	doc, err := d.managed(ctx)
	if err != nil {
		return r, err
	}
	err = tryDocument(ctx, doc, o.ApplyOptions, func(f *fleet, t *route.Table) (err error) {
		b := books{d.store, &f.options.Config, t}
		if r, err = b.compare(ctx, &o); err != nil || !o.Resolve {
			return err
		}
		n, err := b.resolve(ctx, o.Provider, r.Rows)
		if err == nil && n > 0 {
			r, err = b.compare(ctx, &o)
		}
		r.Resolved = n
		return err
	})
	return r, err
}

func (b *books) compare(ctx context.Context, o *ReconcileOptions) (reconcile.Result, error) {
	if o.AdminKey.IsZero() {
		return b.reconcile(ctx, o.Provider, o.From, o.To)
	}
	return b.reconcileWith(ctx, o.Provider, o.AdminKey, o.From, o.To)
}

// resolve resolves attempts whose end nobody saw by what the provider reports, where there is one such attempt of the
// model on the day. It is how many.
func (b *books) resolve(ctx context.Context, provider string, rows []reconcile.Row) (n int, err error) {
	for i := range rows {
		r := &rows[i]
		if r.Finding != reconcile.Unseen {
			continue
		}
		list, err := b.store.Reports.UnseenAttempts(ctx, r.Day, provider+"/"+r.Model, 2)
		if err != nil {
			return n, err
		}
		if len(list) != 1 {
			continue
		}
		used, ok := r.Decided(list[0].Usage)
		if !ok {
			continue
		}
		if ok, err = b.store.Ledger.AnswerQuestion(ctx, list[0].ID, &llm.Reply{Usage: used}, false); err != nil {
			return n, err
		}
		if ok {
			n++
		}
	}
	return n, nil
}

// ReconcileBill compares the ledger with what a provider's billing file charges for days, within those of the options.
func (d *Data) ReconcileBill(ctx context.Context, o ReconcileOptions, bill *reconcile.Bill) (
	days []reconcile.Day, err error,
) {
	doc, err := d.managed(ctx)
	if err != nil {
		return nil, err
	}
	err = tryDocument(ctx, doc, o.ApplyOptions, func(f *fleet, t *route.Table) error {
		b := books{d.store, &f.options.Config, t}
		if err := checkDays(o.From, o.To); err != nil {
			return err
		}
		p, err := b.provider(o.Provider)
		if err != nil {
			return err
		}
		ours, err := b.bought(ctx, p, o.From, o.To)
		if err != nil {
			return err
		}
		within, err := bill.Within(o.From.Format(time.DateOnly), o.To.Format(time.DateOnly))
		days = reconcile.CompareDays(ours, &within)
		return err
	})
	return days, err
}

// checkDays refuses too many days, and those that end before they begin.
func checkDays(from, to time.Time) error {
	if days := int(to.Sub(from).Hours()/24) + 1; days < 1 || days > reconcileDays {
		return llm.Invalidf("start_date", "The days are 1 to %d, the first one not behind the last.", reconcileDays)
	}
	return nil
}

// reconcileAsked is what the administration asks for: one comparison at a time, by the admin key of the configuration.
func reconcileAsked(g *instance) func(context.Context, reconcile.Ask) (reconcile.Result, error) {
	turns := g.managed.comparisons
	return func(ctx context.Context, a reconcile.Ask) (reconcile.Result, error) {
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		default:
			return reconcile.Result{}, &llm.Error{
				Code: llm.CodeOverloaded, RetryAfter: time.Second,
				Message: "Another comparison is being made. Try again when it is done.",
			}
		}
		b := books{g.store, g.configInForce(), g.router.Table()}
		return b.reconcile(ctx, a.Provider, a.From, a.To)
	}
}

// books are the ledger, and the providers beside whose reports it is held.
type books struct {
	store *store.DB
	cfg   *config.Config
	table *route.Table
}

// reconcile compares by the admin key of the configuration.
func (b *books) reconcile(ctx context.Context, name string, from, to time.Time) (reconcile.Result, error) {
	if _, _, err := b.reader(name); err != nil {
		return reconcile.Result{}, err
	}
	key := llm.Secret{}
	for i := range b.cfg.Providers {
		if b.cfg.Providers[i].Name == name {
			key = b.cfg.Providers[i].AdminKey
		}
	}
	if key.IsZero() {
		return reconcile.Result{}, llm.Invalidf("provider", "The provider %q has no admin_key. Set it in the "+
			"configuration, or name a file with one.", name)
	}
	return b.reconcileWith(ctx, name, key, from, to)
}

func (b *books) reconcileWith(ctx context.Context, name string, key llm.Secret, from, to time.Time) (
	r reconcile.Result, err error,
) {
	if err := checkDays(from, to); err != nil {
		return r, err
	}
	p, read, err := b.reader(name)
	if err != nil {
		return r, err
	}
	client, err := reportsClient(&b.cfg.Outbound, p.Reach())
	if err != nil {
		return r, err
	}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, reconcileWait)
	defer cancel()
	theirs, err := read(ctx, &reconcile.Source{BaseURL: p.BaseURL(), AdminKey: key, Client: client}, from, to)
	if err != nil {
		return r, &llm.Error{
			Code: llm.CodeProviderError, Err: err,
			Message: fmt.Sprintf("%s does not tell what it charges: %s.", name, err),
		}
	}
	ours, err := b.bought(ctx, p, from, to)
	return reconcile.Result{Rows: reconcile.Compare(ours, &theirs), Other: theirs.Other}, err
}

// reportsClient asks providers for reports, at addresses that their requests may go to.
func reportsClient(o *config.Outbound, reach outbound.Reach) (*http.Client, error) {
	transport, err := outbound.Transport(o.Proxy.Reveal(), o.CAFile, reconcileAsk)
	if err != nil {
		return nil, err
	}
	if o.Proxy.IsZero() { // else the proxy is what is dialled
		transport.DialContext = (&net.Dialer{Timeout: reconcileAsk, Control: reach.Control}).DialContext
	}
	return &http.Client{
		Transport: transport, Timeout: reconcileAsk,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

func (b *books) provider(name string) (*provider.Provider, error) {
	p := b.table.Provider(name)
	if p == nil {
		return nil, llm.Errorf(llm.CodeNotFound, "There is no provider %q. weir providers lists those that there are.",
			name).At("provider")
	}
	return p, nil
}

// reader is the provider, and how it reports.
func (b *books) reader(name string) (*provider.Provider, reconcile.Read, error) {
	p, err := b.provider(name)
	if err != nil {
		return nil, nil, err
	}
	read := reconcile.Reader(cmp.Or(p.PriceSource(), name), p.Dialect().Name)
	if read == nil {
		return nil, nil, llm.Invalidf("provider", "%s does not report usage and costs in a way that is known here: "+
			"OpenAI, Anthropic and OpenRouter do. Compare its billing file: weir reconcile %s --file FILE.", name, name)
	}
	return p, read, nil
}

// bought is what the ledger has of a provider, by day and model.
func (b *books) bought(ctx context.Context, p *provider.Provider, from, to time.Time) (
	map[reconcile.Place]reconcile.Ours, error,
) {
	q := report.UsesQuery{
		All: true, From: from.Format(time.DateOnly), To: to.Format(time.DateOnly), Limit: groupsPage,
		By: []report.Dimension{report.ByDay, report.ByModel},
	}
	all := map[reconcile.Place]reconcile.Ours{}
	for ; ; q.Offset += groupsPage {
		page, err := b.store.Reports.Uses(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range page.Uses {
			u := &page.Uses[i]
			name, model, _ := strings.Cut(*u.Group[1], "/")
			if name != p.Name() {
				continue
			}
			bought, most := u.Purchase(u.Cost, u.Uncertain)
			at, err := time.Parse(time.DateOnly, *u.Group[0])
			if err != nil {
				return nil, err
			}
			all[reconcile.Place{Day: *u.Group[0], Model: model}] = reconcile.Ours{
				Usage: reconcile.Usage{
					Input: u.Usage.InputTokens(), Cached: u.Usage[llm.CacheRead] + u.Usage[llm.CacheReadAudio],
					Output: u.Usage.OutputTokens(),
				},
				Cost: bought, Uncertain: most - bought, Unseen: u.Unseen > 0, Unpriced: u.PurchaseUnpriced(u.Unpriced) > 0,
				Price: b.table.Price(&route.Target{Provider: p, Model: model}, at),
			}
		}
		if len(page.Uses) < groupsPage {
			return all, nil
		}
	}
}

// watchDrift compares each day once it is over with what the providers report that have an admin key, and tells of what
// differs, until ctx ends.
func watchDrift(ctx context.Context, g *instance) {
	every := time.NewTicker(driftEvery)
	defer every.Stop()
	compared := map[string]string{} // the last day, by provider
	for {
		cfg := g.configInForce()
		b := books{g.store, cfg, g.router.Table()}
		day := g.store.Now().Add(-driftAfter).UTC().AddDate(0, 0, -1).Truncate(24 * time.Hour)
		for i := range cfg.Providers {
			p := &cfg.Providers[i]
			if date := day.Format(time.DateOnly); !p.AdminKey.IsZero() && compared[p.Name] != date {
				err := tellDrift(ctx, g, &b, p.Name, day)
				if err == nil {
					compared[p.Name] = date
				} else if ctx.Err() == nil {
					g.options.Log.Warn("a provider's report could not be compared with the ledger", "provider", p.Name,
						"date", date, "err", err)
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// tellDrift compares the days up to one, with those beside them, and tells of what is not explained.
func tellDrift(ctx context.Context, g *instance, b *books, provider string, last time.Time) error {
	r, err := b.reconcile(ctx, provider, last.AddDate(0, 0, -driftBack-1), last.AddDate(0, 0, 1))
	if err != nil {
		return err
	}
	began, err := b.store.Reports.FirstDay(ctx, provider)
	if err != nil {
		return err
	}
	for back := driftBack; back >= 0; back-- {
		day := last.AddDate(0, 0, -back)
		if began == "" || day.Format(time.DateOnly) < began { // what was used then did not come this way
			continue
		}
		d := driftOf(provider, day.Format(time.DateOnly), r.Rows)
		if d.Rows == 0 {
			continue
		}
		g.options.Log.Warn("a provider's report differs from the ledger", "provider", provider, "date", d.Date, "models",
			d.Rows)
		e := webhook.NewEvent(webhook.UsageDrift, "", g.store.Now(), webhook.Data{Drift: &d})
		e.TellOnce(day.Add(driftKept), provider, d.Date)
		if err := g.store.Webhooks.Tell(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// driftOf is what is not explained of a day.
func driftOf(provider, date string, rows []reconcile.Row) webhook.Drift {
	d := webhook.Drift{Provider: provider, Date: date, Models: []webhook.DriftedOf{}}
	for i := range rows {
		row := &rows[i]
		if row.Day != date || row.Finding.Explained() {
			continue
		}
		if d.Rows++; len(d.Models) < driftModels {
			one := webhook.DriftedOf{Model: row.Model, Finding: string(row.Finding), OursUSD: row.Ours.Cost.String()}
			if row.Cost != nil {
				one.TheirsUSD = new(row.Cost.String())
			}
			d.Models = append(d.Models, one)
		}
	}
	return d
}
