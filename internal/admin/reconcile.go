package admin

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
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
	"weir/internal/upstream"
)

const (
	// reconcileWait bounds a whole comparison, and reconcileAsk each request to the provider.
	reconcileWait, reconcileAsk = 5 * time.Minute, time.Minute
	// reconcileDays bounds the days of a comparison.
	reconcileDays = 366
	groupsPage    = 1000
)

// Reconciliation compares the ledger with the reports and bills of providers.
type Reconciliation struct {
	store         *store.DB
	log           *slog.Logger
	configuration *Configuration
	inForce       func() (*config.Config, *route.Table) // nil in commands
	running       chan struct{}                         // holds the comparison that runs
}

func newReconciliation(o *Options, c *Configuration) *Reconciliation {
	return &Reconciliation{o.Store, o.Log, c, o.InForce, make(chan struct{}, 1)}
}

// ReconcileOptions says what to compare.
type ReconcileOptions struct {
	Provider string
	AdminKey llm.Secret // zero for the one of the configuration
	From, To time.Time  // days, inclusive
	// Resolve resolves attempts with an unknown end if the provider's figures decide their usage. Set it only if
	// nothing else uses the provider's keys.
	Resolve bool
}

// Compare compares the ledger with a provider's report.
func (r *Reconciliation) Compare(ctx context.Context, o ReconcileOptions) (result reconcile.Result, err error) {
	doc, _, err := r.configuration.parsed(ctx, 0)
	if err != nil {
		return result, err
	}
	err = r.configuration.try(ctx, doc, func(up *upstream.Builder, t *route.Table) (err error) {
		c := comparison{r.store, up.Config(), t}
		if result, err = c.compare(ctx, &o); err != nil || !o.Resolve {
			return err
		}
		n, err := c.resolve(ctx, o.Provider, result.Rows)
		if err == nil && n > 0 {
			result, err = c.compare(ctx, &o)
		}
		result.Resolved = n
		return err
	})
	return result, err
}

func (c *comparison) compare(ctx context.Context, o *ReconcileOptions) (reconcile.Result, error) {
	if o.AdminKey.IsZero() {
		return c.reconcile(ctx, o.Provider, o.From, o.To)
	}
	return c.reconcileWith(ctx, o.Provider, o.AdminKey, o.From, o.To)
}

// resolve resolves an attempt with an unknown end from the provider's report, if it is the only one of its model and
// day. It returns how many it resolved.
func (c *comparison) resolve(ctx context.Context, provider string, rows []reconcile.Row) (n int, err error) {
	for i := range rows {
		r := &rows[i]
		if r.Finding != reconcile.Unseen {
			continue
		}
		list, err := c.store.Reports.UnseenAttempts(ctx, r.Day, provider+"/"+r.Model, 2)
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
		if ok, err = c.store.Corrections.AnswerQuestion(ctx, list[0].ID, &llm.Reply{Usage: used}, false); err != nil {
			return n, err
		}
		if ok {
			n++
		}
	}
	return n, nil
}

// CompareBill compares the ledger with the charges in a provider's billing file, for the days of the options.
func (r *Reconciliation) CompareBill(ctx context.Context, o ReconcileOptions, bill *reconcile.Bill) (
	days []reconcile.Day, err error,
) {
	doc, _, err := r.configuration.parsed(ctx, 0)
	if err != nil {
		return nil, err
	}
	err = r.configuration.try(ctx, doc, func(up *upstream.Builder, t *route.Table) error {
		c := comparison{r.store, up.Config(), t}
		if err := checkDays(o.From, o.To); err != nil {
			return err
		}
		p, err := c.provider(o.Provider)
		if err != nil {
			return err
		}
		ours, err := c.bought(ctx, p, o.From, o.To)
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

// Ask compares for the administration: one comparison at a time, with the admin key of the configuration in force.
func (r *Reconciliation) Ask(ctx context.Context, a reconcile.Ask) (reconcile.Result, error) {
	leave, err := enter(r.running, llm.CodeOverloaded, "Another comparison is running. Try again when it is done.")
	if err != nil {
		return reconcile.Result{}, err
	}
	defer leave()
	cfg, table := r.inForce()
	c := comparison{r.store, cfg, table}
	return c.reconcile(ctx, a.Provider, a.From, a.To)
}

// comparison holds the ledger and the providers that it is compared with.
type comparison struct {
	store *store.DB
	cfg   *config.Config
	table *route.Table
}

// reconcile compares with the admin key of the configuration.
func (c *comparison) reconcile(ctx context.Context, name string, from, to time.Time) (reconcile.Result, error) {
	if _, _, err := c.reader(name); err != nil {
		return reconcile.Result{}, err
	}
	key := llm.Secret{}
	for i := range c.cfg.Providers {
		if c.cfg.Providers[i].Name == name {
			key = c.cfg.Providers[i].AdminKey
		}
	}
	if key.IsZero() {
		return reconcile.Result{}, llm.Invalidf("provider", "The provider %q has no admin_key. Set it in the "+
			"configuration, or name a file with the key.", name)
	}
	return c.reconcileWith(ctx, name, key, from, to)
}

func (c *comparison) reconcileWith(ctx context.Context, name string, key llm.Secret, from, to time.Time) (
	r reconcile.Result, err error,
) {
	if err := checkDays(from, to); err != nil {
		return r, err
	}
	p, read, err := c.reader(name)
	if err != nil {
		return r, err
	}
	client, err := reportsClient(&c.cfg.Outbound, p.Reach())
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
	ours, err := c.bought(ctx, p, from, to)
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

func (c *comparison) provider(name string) (*provider.Provider, error) {
	p := c.table.Provider(name)
	if p == nil {
		return nil, llm.Errorf(llm.CodeNotFound, "There is no provider %q: weir providers lists the configured ones.",
			name).At("provider")
	}
	return p, nil
}

// reader returns the provider, and the function that reads its reports.
func (c *comparison) reader(name string) (*provider.Provider, reconcile.Read, error) {
	p, err := c.provider(name)
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
func (c *comparison) bought(ctx context.Context, p *provider.Provider, from, to time.Time) (
	map[reconcile.Place]reconcile.Ours, error,
) {
	q := report.UsesQuery{
		All: true, From: from.Format(time.DateOnly), To: to.Format(time.DateOnly), Limit: groupsPage,
		By: []report.Dimension{report.ByDay, report.ByModel},
	}
	all := map[reconcile.Place]reconcile.Ours{}
	for ; ; q.Offset += groupsPage {
		page, err := c.store.Reports.Uses(ctx, q)
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
				Price:    c.table.Price(&route.Target{Provider: p, Model: model}, at),
			}
		}
		if len(page.Uses) < groupsPage {
			return all, nil
		}
	}
}
