package app

import (
	"context"
	"errors"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/alert"
	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/outbound"
	"weir/internal/ratelimit"
	"weir/internal/route"
	"weir/internal/webhook"
)

// openWebhooks creates the service that sends events to people's programs.
func (g *instance) openWebhooks() error {
	o, cfg := g.options, &g.options.Config
	roots, err := outbound.Certificates(cfg.Outbound.CAFile)
	if err != nil {
		return err
	}
	proxy, err := outbound.ParseProxy(cfg.Outbound.Proxy.Reveal())
	if err != nil {
		return err
	}
	sends := webhook.DelivererOptions{
		Outbox: g.store.Deliveries, Ring: g.admin.MasterKeys.Ring,
		AllowPrivate: cfg.Webhooks.AllowPrivate, Proxy: proxy,
		Roots: roots, Version: o.Version, Log: o.Log,
	}
	if g.admin.Mail != nil {
		sends.Mail = g.admin.Mail.Send
	}
	g.deliverer = webhook.NewDeliverer(sends)
	g.notices = webhook.NewNotices(webhook.NoticesOptions{
		Tell: g.store.Events.Tell, TellExceeded: g.tellExceeded, Node: hostname(), Now: g.store.Now, Log: o.Log,
	})
	return nil
}

// evaluatorOf returns the evaluator of alerts.
func evaluatorOf(g *instance) *alert.Evaluator {
	return alert.NewEvaluator(alert.Options{
		Store: g.store.Alerts, Rules: g.admin.Alerts.Rules, Log: g.options.Log,
		Prices: func() time.Time {
			newest := 0.0
			g.upstream.Prices().Days(func(_ string, day float64) { newest = max(newest, day) })
			if newest == 0 {
				return time.Time{}
			}
			return time.Unix(int64(newest), 0).UTC()
		},
	})
}

// noticeRefusal reports requests that a limit or a budget refused.
func (g *instance) noticeRefusal(p *account.Principal, e *llm.Error) {
	if x, ok := errors.AsType[*ratelimit.Exceeded](e); ok {
		g.notices.RateLimited(p.Account().ID, p.Key().ID, webhook.RateLimit{Of: x.Of, What: x.What, Limit: x.Limit})
	}
	if x, ok := errors.AsType[*budget.Exceeded](e); ok {
		g.notices.Exceeded(p.Account().ID, *x)
	}
}

// tellExceeded sends the event of an exhausted budget, once the database has all settled attempts of this node.
func (g *instance) tellExceeded(ctx context.Context, x budget.Exceeded) (bool, error) {
	if err := g.ledger.Flush(ctx); err != nil {
		return false, err
	}
	return g.store.Events.TellExceeded(ctx, x)
}

// noticeHealth reports that a target has failed five times in a row, or that it answers again.
func (g *instance) noticeHealth(e route.Event) {
	if e.Account != "" { // not reported to others: the account's own requests may have caused it
		g.options.Log.Info("a provider's availability changed for one account only", "target", e.Target, "account",
			e.Account, "available", e.Available, "reason", e.Reason)
		return
	}
	provider, model, _ := strings.Cut(e.Target, "/")
	of := webhook.Target{Provider: provider, Model: model, Reason: e.Brief}
	public := g.router.Table().Shows(e.Target, e.At)
	if e.Available {
		g.options.Log.Info("provider.recovered", "target", e.Target)
		g.notices.Provider(webhook.ProviderRecovered, of, public)
		return
	}
	g.options.Log.Warn("provider.unavailable", "target", e.Target, "reason", e.Reason)
	g.notices.Provider(webhook.ProviderUnavailable, of, public)
}
