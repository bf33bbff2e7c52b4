package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/config"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/outbound"
	"weir/internal/ratelimit"
	"weir/internal/route"
	"weir/internal/seal"
	"weir/internal/store"
	"weir/internal/webhook"
)

// calendarEvery is how often it is looked whether a day is over or a key expires.
const calendarEvery = 10 * time.Minute

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
	if x, ok := errors.AsType[*ledger.Exceeded](e); ok {
		g.notices.Exceeded(p.Account().ID, *x)
	}
}

// tellExceeded tells of a budget that is spent, once all that this node has settled
// is in the database.
func (g *instance) tellExceeded(ctx context.Context, x ledger.Exceeded) (bool, error) {
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

// keepCalendar tells of what comes with time: keys that expire, days that are over. The
// time is that of the database: a node whose clock is a day ahead would tell of a day
// that is not over, and then nobody would any more.
func (g *instance) keepCalendar(ctx context.Context) {
	every := time.NewTicker(calendarEvery)
	defer every.Stop()
	for {
		now, err := g.store.Time(ctx)
		if err == nil {
			err = errors.Join(g.store.Webhooks.TellExpiring(ctx, now), g.store.Webhooks.TellUsage(ctx, now))
		}
		if err != nil && ctx.Err() == nil {
			g.options.Log.Error("scheduled events could not be written", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
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
		load = func() ([]seal.Key, error) { return readKeys(r.path) }
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

// readKeys reads a file with a key a line; none where it is not there.
func readKeys(path string) (keys []seal.Key, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		k, err := seal.ParseKey(line)
		if err != nil {
			return nil, fmt.Errorf("%s has a line that is %w", path, err)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// writeKeys writes the keys to the path, for good and for whoever may read what is
// there: place is os.Rename to replace that, and os.Link to leave it.
func writeKeys(path string, keys []seal.Key, place func(from, to string) error) error {
	var text strings.Builder
	text.WriteString(
		"# Secrets in the database are sealed with the first of these keys. Without it they are lost: keep a copy.\n")
	for _, k := range keys {
		text.WriteString(k.Text().Reveal() + "\n")
	}
	f, err := os.CreateTemp(filepath.Dir(path), secretsFile+".*") // for its owner alone
	if err != nil {
		return err
	}
	_, err = f.WriteString(text.String())
	if err == nil {
		err = readableAs(f, path)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = place(f.Name(), path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if rest := os.Remove(f.Name()); !errors.Is(rest, fs.ErrNotExist) {
		err = errors.Join(err, rest)
	}
	return err
}

// readableAs gives a file to those who may read the one that it is to replace. A
// first file is its maker's; root makes it for the owner of the directory, as whom
// the gateway runs.
func readableAs(f *os.File, path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil:
		if err := f.Chmod(info.Mode().Perm()); err != nil {
			return err
		}
	case errors.Is(err, fs.ErrNotExist) && os.Geteuid() == 0:
		info, err = os.Stat(filepath.Dir(path))
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	if err != nil {
		return err
	}
	return giveAs(f, info)
}

// syncDir makes what was placed in a directory outlive a power cut.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// make makes the first key, where the configuration has none and there is no file. Of
// two processes that do so at once, one succeeds, and the other takes its key.
func (r *ring) make() error {
	if r.path == "" {
		return nil
	}
	err := writeKeys(r.path, []seal.Key{seal.NewKey()}, os.Link)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make %s: %w", secretsFile, err)
	}
	return r.Reload()
}
