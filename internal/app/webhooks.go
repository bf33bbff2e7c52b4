package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/config"
	"weir/internal/llm"
	"weir/internal/outbound"
	"weir/internal/ratelimit"
	"weir/internal/route"
	"weir/internal/seal"
	"weir/internal/store"
	"weir/internal/webhook"
)

// openWebhooks makes what tells people's programs of events.
func (g *instance) openWebhooks() error {
	o, cfg := g.options, &g.options.Config
	ring, err := newRing(cfg)
	if err != nil {
		return err
	}
	roots, err := outbound.Certificates(cfg.Outbound.CAFile)
	if err != nil {
		return err
	}
	proxy, err := outbound.ParseProxy(cfg.Outbound.Proxy.Reveal())
	if err != nil {
		return err
	}
	g.webhooks = newWebhooks(cfg, g.store, ring)
	g.deliverer = webhook.NewDeliverer(webhook.DelivererOptions{
		Outbox: g.store.Webhooks, Ring: ring.Ring, AllowPrivate: cfg.Webhooks.AllowPrivate, Proxy: proxy, Roots: roots,
		Version: o.Version, Log: o.Log,
	})
	g.notices = webhook.NewNotices(webhook.NoticesOptions{
		Tell: g.store.Webhooks.Tell, TellExceeded: g.tellExceeded, Node: hostname(), Now: g.store.Now, Log: o.Log,
	})
	return nil
}

func newWebhooks(cfg *config.Config, db *store.DB, ring *ring) *webhook.Service {
	return webhook.NewService(webhook.Options{
		Stores: db.Webhooks.Stores(), Ring: ring.Ring, NewKey: ring.make,
		AllowPrivate: cfg.Webhooks.AllowPrivate, Now: db.Now,
	})
}

// noticeRefusal is told of requests that a limit or a budget refused.
func (g *instance) noticeRefusal(p *account.Principal, e *llm.Error) {
	if x, ok := errors.AsType[*ratelimit.Exceeded](e); ok {
		g.notices.RateLimited(p.Account().ID, p.Key().ID, webhook.RateLimit{Of: x.Of, What: x.What, Limit: x.Limit})
	}
	if x, ok := errors.AsType[*budget.Exceeded](e); ok {
		g.notices.Exceeded(p.Account().ID, *x)
	}
}

// tellExceeded tells of a budget that is spent, once all that this node has settled
// is in the database.
func (g *instance) tellExceeded(ctx context.Context, x budget.Exceeded) (bool, error) {
	if err := g.ledger.Flush(ctx); err != nil {
		return false, err
	}
	return g.store.Webhooks.TellExceeded(ctx, x)
}

// noticeHealth is told when a target fails for the fifth time in a row, and when it
// answers again.
func (g *instance) noticeHealth(e route.Event) {
	if e.Account != "" { // what others are not told of: its own requests may have brought it about
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

// secretsFile holds the master keys where the configuration names none, the newest
// one first.
const secretsFile = "secrets.key"

// ring is the master keys, and where they come from.
type ring struct {
	*seal.Ring
	path string // of the file; empty where the configuration has them
}

// newRing is the keys of the configuration, or else of the file, which there may not
// be yet.
func newRing(cfg *config.Config) (*ring, error) {
	r := &ring{}
	load := func() ([]seal.Key, error) { return configuredKeys(&cfg.Secrets) }
	if cfg.Secrets.Key.IsZero() {
		r.path = filepath.Join(cfg.Data, secretsFile)
		load = func() ([]seal.Key, error) { return seal.ReadKeys(r.path) }
	}
	var err error
	if r.Ring, err = seal.NewRing(load); err != nil {
		return nil, fmt.Errorf("secrets: %w", err)
	}
	return r, nil
}

func configuredKeys(s *config.Secrets) (keys []seal.Key, err error) {
	for _, secret := range append([]llm.Secret{s.Key}, s.Previous...) {
		k, err := seal.ParseKey(secret.Reveal())
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// sealed is a text sealed with the installation's key, which is made where there is none. Master tells which that is:
// see store.Webhooks.MasterKey.
func (r *ring) sealed(ctx context.Context, master func(ctx context.Context, newest string) (string, error),
	text []byte, about string,
) (string, error) {
	if r.Newest() == "" {
		if err := r.make(); err != nil {
			return "", err
		}
	}
	name, err := master(ctx, r.Newest())
	if err != nil {
		return "", err
	}
	return r.Seal(name, text, about)
}

// make makes the first key, where the configuration has none and there is no file. Of
// two processes that do so at once, one succeeds, and the other takes its key.
func (r *ring) make() error {
	if r.path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(r.path), 0o700); err != nil { // with PostgreSQL, there may be none yet
		return err
	}
	err := seal.WriteKeys(r.path, []seal.Key{seal.NewKey()}, os.Link)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make %s: %w", secretsFile, err)
	}
	return r.Reload()
}
