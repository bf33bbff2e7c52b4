package app

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/gateway"
	"weir/internal/managed"
	"weir/internal/store"
)

// managedConfig is the configuration in the database, with the keys that it is sealed with.
type managedConfig struct {
	store *store.Managed
	ring  *ring
	// master is the name of the master key; see store.Webhooks.MasterKey.
	master func(ctx context.Context, newest string) (string, error)
	// options and pipeline are the gateway's; nothing beside one.
	options  *Options
	pipeline gateway.Options
	trials   chan struct{} // tests of providers that run
	plans    chan struct{} // the plan that is made
	// comparisons has the comparison with a provider's report that is made.
	comparisons chan struct{}

	inForce atomic.Int64 // the version in force on this node; 0 for none
	refused atomic.Int64 // the version that cannot be used here; 0 for none
}

func newManaged(cfg *config.Config, db *store.DB) (*managedConfig, error) {
	r, err := newRing(cfg)
	if err != nil {
		return nil, err
	}
	return &managedConfig{
		store: db.Managed, ring: r, master: db.Webhooks.MasterKey, trials: make(chan struct{}, mostTrials),
		plans: make(chan struct{}, 1), comparisons: make(chan struct{}, 1),
	}, nil
}

// document is that of a version, in JSON, and its place; the one in force where seq is 0, and nil and 0 where there is
// none.
func (m *managedConfig) document(ctx context.Context, seq int64) (text []byte, at int64, err error) {
	v, err := m.store.Version(ctx, seq)
	if err != nil || v.Seq == 0 {
		return nil, 0, err
	}
	text, err = m.ring.Open(v.Sealed, managed.About)
	if err != nil {
		return nil, v.Seq, fmt.Errorf("open version %d of the managed configuration: %w", v.Seq, err)
	}
	return text, v.Seq, nil
}

// parsed is document, read.
func (m *managedConfig) parsed(ctx context.Context, seq int64) (config.Document, int64, error) {
	text, at, err := m.document(ctx, seq)
	if err != nil {
		return nil, at, err
	}
	doc, err := config.ParseDocument("managed configuration", text)
	return doc, at, err
}

// put makes a document the version behind the one at after.
func (m *managedConfig) put(ctx context.Context, by audit.Actor, after int64, doc config.Document,
	changes []managed.Change,
) error {
	text, err := doc.JSON()
	if err != nil {
		return err
	}
	sealed, err := m.ring.sealed(ctx, m.master, text, managed.About)
	if err != nil {
		return fmt.Errorf("seal the managed configuration: %w", err)
	}
	return m.store.Put(ctx, by, after, sealed, changes)
}

// ApplyOptions say how Apply goes about it.
type ApplyOptions struct {
	File   config.Options // of the gateway, beside which what is applied has to be without mistakes
	Getenv func(string) string
	Remove []managed.Ref
	Prune  bool   // remove what is managed and not in the change
	DryRun bool   // change nothing
	After  *int64 // the version in force; managed.ErrChanged where it is another; nil for whatever it is
}

// Apply puts a change to the managed configuration in force, on every node within a second, and tells what it changes.
// The error is config.Problems where there are mistakes, or where it changes what the configuration file has.
func (d *Data) Apply(ctx context.Context, by audit.Actor, change config.Document, o ApplyOptions) (
	[]managed.Change, error,
) {
	m, err := newManaged(&d.cfg, d.store)
	if err != nil {
		return nil, err
	}
	r, err := m.apply(ctx, by, change, o)
	return r.Changes, err
}

// Restore puts an earlier version of the managed configuration in force again, as a new version.
func (d *Data) Restore(ctx context.Context, by audit.Actor, seq int64, o ApplyOptions) ([]managed.Change, error) {
	m, err := newManaged(&d.cfg, d.store)
	if err != nil {
		return nil, err
	}
	r, err := m.restore(ctx, by, seq, o)
	return r.Changes, err
}

// ManagedVersions are at most so many of the newest versions of the managed configuration, the newest first.
func (d *Data) ManagedVersions(ctx context.Context, most int) ([]managed.Version, error) {
	return d.store.Managed.Versions(ctx, 0, most)
}

// InForce is what the configuration file and the managed configuration have of what can be managed, without secrets.
func (d *Data) InForce(ctx context.Context, o config.Options) (config.Document, error) {
	doc, err := d.managed(ctx)
	if err != nil {
		return nil, err
	}
	file, err := config.FileDocument(o)
	if err != nil {
		return nil, err
	}
	return doc.With(file.Document, false).Hidden(), nil
}

// Objects are the objects of the configuration that can be managed, with where each is from.
func (d *Data) Objects(ctx context.Context, o config.Options) ([]managed.Object, error) {
	doc, err := d.managed(ctx)
	if err != nil {
		return nil, err
	}
	return config.Objects(o, doc)
}

// managed is the managed configuration in force.
func (d *Data) managed(ctx context.Context) (config.Document, error) {
	m, err := newManaged(&d.cfg, d.store)
	if err != nil {
		return nil, err
	}
	doc, _, err := m.parsed(ctx, 0)
	return doc, err
}

// managedEvery is how often a node looks for another version: it is in force within a second.
const managedEvery = 400 * time.Millisecond

// load reads the configuration with what is managed, and tells which version that is.
func (m *managedConfig) load(ctx context.Context, reload func([]byte) (config.Config, error)) (
	cfg config.Config, seq int64, err error,
) {
	text, seq, err := m.document(ctx, 0)
	if err == nil {
		cfg, err = reload(text)
	}
	return cfg, seq, err
}

// note notes what came of a version. Where the one in force is read again with an error, that is the file's.
func (m *managedConfig) note(seq int64, err error) {
	if err != nil {
		if seq != m.inForce.Load() {
			m.refused.Store(seq)
		}
		return
	}
	m.inForce.Store(seq)
	m.refused.Store(0)
}

// isOther reports whether the database has a version that was not tried yet.
func (m *managedConfig) isOther(ctx context.Context) bool {
	seq, err := m.store.Seq(ctx) // a database that is away is told of elsewhere
	return err == nil && seq != m.inForce.Load() && seq != m.refused.Load()
}

// problem is what is wrong with the version in the database; empty for nothing.
func (m *managedConfig) problem() string {
	refused := m.refused.Load()
	if refused == 0 {
		return ""
	}
	return fmt.Sprintf("version %d cannot be used here; version %d stays in force, the log says why", refused,
		m.inForce.Load())
}

// begin has a gateway begin with what is managed.
func (m *managedConfig) begin(ctx context.Context, o *Options) error {
	m.options = o
	if o.Reload == nil {
		return nil
	}
	text, seq, err := m.document(ctx, 0)
	if err == nil && seq == 0 {
		return nil
	}
	var cfg config.Config
	if err == nil {
		cfg, err = o.Reload(text)
	}
	if err != nil {
		return fmt.Errorf("the managed configuration cannot be used (weir config versions and weir config restore go "+
			"back to another one): %w", err)
	}
	o.Config = cfg
	m.note(seq, nil)
	return nil
}
