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
	// reconcileWait bounds a whole comparison, and reconcileAsk each request to the provider.
	reconcileWait, reconcileAsk = 5 * time.Minute, time.Minute
	// reconcileDays bounds the days of a comparison.
	reconcileDays = 366
	groupsPage    = 1000
	// driftEvery is the interval of the check for a new day to compare. A day is compared driftAfter its end, when
	// providers have reported it and the day after it, to which they may assign some of its usage.
	driftEvery, driftAfter = time.Hour, 32 * time.Hour
	// driftBack is the number of earlier days that are compared again, in case no gateway ran in time. driftKept is
	// how long a reported day is remembered.
	driftBack, driftKept = 6, 40 * 24 * time.Hour
	// driftModels bounds the models that an event names.
	driftModels = 20
)

// ReconcileOptions says what to compare.
type ReconcileOptions struct {
	ApplyOptions
	Provider string
	AdminKey llm.Secret // zero for the one of the configuration
	From, To time.Time  // days, inclusive
	// Resolve resolves attempts with an unknown end if the provider's figures decide their usage. Set it only if
	// nothing else uses the provider's keys.
	Resolve bool
}

// Reconcile compares the ledger with a provider's report.
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

// resolve resolves an attempt with an unknown end from the provider's report, if it is the only one of its model and
// day. It returns how many it resolved.
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

// ReconcileBill compares the ledger with the charges in a provider's billing file, for the days of the options.
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

// checkDays refuses too many days, and an end before the start.
func checkDays(from, to time.Time) error {
	if days := int(to.Sub(from).Hours()/24) + 1; days < 1 || days > reconcileDays {
		return llm.Invalidf("start_date", "Choose 1 to %d days, with start_date not after end_date.", reconcileDays)
	}
	return nil
}

// reconcileAsked compares for the administration: one comparison at a time, with the admin key of the configuration.
func reconcileAsked(g *instance) func(context.Context, reconcile.Ask) (reconcile.Result, error) {
	turns := g.managed.comparisons
	return func(ctx context.Context, a reconcile.Ask) (reconcile.Result, error) {
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		default:
			return reconcile.Result{}, &llm.Error{
				Code: llm.CodeOverloaded, RetryAfter: time.Second,
				Message: "Another comparison is running. Try again when it is done.",
			}
		}
		b := books{g.store, g.configInForce(), g.router.Table()}
		return b.reconcile(ctx, a.Provider, a.From, a.To)
	}
}

// books holds the ledger and the providers that it is compared with.
type books struct {
	store *store.DB
	cfg   *config.Config
	table *route.Table
}

// reconcile compares with the admin key of the configuration.
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
			"configuration, or name a file with the key.", name)
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
			Message: fmt.Sprintf("The report of %s cannot be read: %s.", name, err),
		}
	}
	ours, err := b.bought(ctx, p, from, to)
	return reconcile.Result{Rows: reconcile.Compare(ours, &theirs), Other: theirs.Other}, err
}

// reportsClient returns a client for reports, which connects only to addresses that the provider's requests may use.
func reportsClient(o *config.Outbound, reach outbound.Reach) (*http.Client, error) {
	transport, err := outbound.Transport(o.Proxy.Reveal(), o.CAFile, reconcileAsk)
	if err != nil {
		return nil, err
	}
	if o.Proxy.IsZero() { // otherwise the gateway dials the proxy
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
		return nil, llm.Errorf(llm.CodeNotFound, "There is no provider %q: weir providers lists the configured ones.",
			name).At("provider")
	}
	return p, nil
}

// reader returns the provider, and the function that reads its reports.
func (b *books) reader(name string) (*provider.Provider, reconcile.Read, error) {
	p, err := b.provider(name)
	if err != nil {
		return nil, nil, err
	}
	read := reconcile.Reader(cmp.Or(p.PriceSource(), name), p.Dialect().Name)
	if read == nil {
		return nil, nil, llm.Invalidf("provider", "Weir cannot read usage and cost reports of %s, only those of "+
			"OpenAI, "+
			"Anthropic and OpenRouter. Compare its billing file: weir reconcile %s --file FILE.", name, name)
	}
	return p, read, nil
}

// bought returns the purchases from a provider in the ledger, by day and model.
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
				Cost: bought, Uncertain: most - bought, Unseen: u.Unseen > 0,
				Unpriced: u.PurchaseUnpriced(u.Unpriced) > 0,
				Price:    b.table.Price(&route.Target{Provider: p, Model: model}, at),
			}
		}
		if len(page.Uses) < groupsPage {
			return all, nil
		}
	}
}

// watchDrift compares each finished day with the reports of the providers that have an admin key, and sends an event
// for unexplained differences, until ctx ends.
func watchDrift(ctx context.Context, g *instance) {
	every := time.NewTicker(driftEvery)
	defer every.Stop()
	compared := map[string]string{} // last compared day, by provider
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

// tellDrift compares the days up to last, together with the days before and after them, and sends an event for each
// day with unexplained differences.
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
		if began == "" || day.Format(time.DateOnly) < began { // there was no usage through this gateway yet
			continue
		}
		d := driftOf(provider, day.Format(time.DateOnly), r.Rows)
		if d.Rows == 0 {
			continue
		}
		g.options.Log.Warn("a provider's report differs from the "+
			"ledger", "provider", provider, "date", d.Date, "models",
			d.Rows)
		e := webhook.NewEvent(webhook.UsageDrift, "", g.store.Now(), webhook.Data{Drift: &d})
		e.TellOnce(day.Add(driftKept), provider, d.Date)
		if err := g.store.Webhooks.Tell(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// driftOf returns the unexplained differences of a day.
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
