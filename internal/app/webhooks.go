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

// openWebhooks creates the service that sends events to people's programs.
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
	return g.store.Webhooks.TellExceeded(ctx, x)
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

// secretsFile holds the master keys if the configuration has none, the newest one first.
const secretsFile = "secrets.key"

// ring holds the master keys and the path of their file.
type ring struct {
	*seal.Ring
	path string // empty if the keys are in the configuration
}

// newRing reads the keys of the configuration, or else of the file, which may not exist yet.
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

// sealed seals a text with the installation's key, and creates the key if there is none. Master returns the key's
// name: see store.Webhooks.MasterKey.
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

// make creates the first key if neither the configuration nor the file has one. If two processes do so at once, one
// succeeds, and the other uses that key.
func (r *ring) make() error {
	if r.path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(r.path), 0o700); err != nil { // with PostgreSQL the directory may not exist yet
		return err
	}
	err := seal.WriteKeys(r.path, []seal.Key{seal.NewKey()}, os.Link)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create %s: %w", secretsFile, err)
	}
	return r.Reload()
}
