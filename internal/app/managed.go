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

// managedConfig reads and changes the managed configuration, which is sealed in the database.
type managedConfig struct {
	store *store.Managed
	ring  *ring
	// master returns the name of the master key; see store.Webhooks.MasterKey.
	master func(ctx context.Context, newest string) (string, error)
	// options and pipeline belong to the gateway; they are empty in other commands.
	options  *Options
	pipeline gateway.Options
	trials   chan struct{} // running tests of providers
	plans    chan struct{} // the running plan
	// comparisons holds a place for the one comparison with a provider's report.
	comparisons chan struct{}

	inForce atomic.Int64 // version in force on this node; 0 for none
	refused atomic.Int64 // version that this node cannot use; 0 for none
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

// document returns the JSON document of a version and the version's number. For seq 0 it returns the version in
// force, or nil and 0 if there is none.
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

// parsed returns the parsed document of a version.
func (m *managedConfig) parsed(ctx context.Context, seq int64) (config.Document, int64, error) {
	text, at, err := m.document(ctx, seq)
	if err != nil {
		return nil, at, err
	}
	doc, err := config.ParseDocument("managed configuration", text)
	return doc, at, err
}

// put stores a document as the version after the one numbered after.
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

// ApplyOptions holds the options of Apply.
type ApplyOptions struct {
	File   config.Options // the gateway's file; the changed configuration must be valid together with it
	Getenv func(string) string
	Remove []managed.Ref
	Prune  bool   // remove managed objects that are not in the change
	DryRun bool   // only return the changes
	After  *int64 // expected version in force, else managed.ErrChanged; nil for any
}

// Apply puts a change of the managed configuration in force, on every node within a second, and returns what changed.
// It returns config.Problems for mistakes, and for changes of objects in the configuration file.
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

// ManagedVersions returns at most that many of the newest versions of the managed configuration, newest first.
func (d *Data) ManagedVersions(ctx context.Context, most int) ([]managed.Version, error) {
	return d.store.Managed.Versions(ctx, 0, most)
}

// InForce returns the managed objects, and the manageable objects of the configuration file, without secrets.
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

// Objects returns the manageable objects of the configuration, with the source of each.
func (d *Data) Objects(ctx context.Context, o config.Options) ([]managed.Object, error) {
	doc, err := d.managed(ctx)
	if err != nil {
		return nil, err
	}
	return config.Objects(o, doc)
}

// managed returns the managed configuration in force.
func (d *Data) managed(ctx context.Context) (config.Document, error) {
	m, err := newManaged(&d.cfg, d.store)
	if err != nil {
		return nil, err
	}
	doc, _, err := m.parsed(ctx, 0)
	return doc, err
}

// managedEvery is the interval for checking for a new version, which is in force within a second.
const managedEvery = 400 * time.Millisecond

// load reads the configuration with the managed part, and returns the version of that part.
func (m *managedConfig) load(ctx context.Context, reload func([]byte) (config.Config, error)) (
	cfg config.Config, seq int64, err error,
) {
	text, seq, err := m.document(ctx, 0)
	if err == nil {
		cfg, err = reload(text)
	}
	return cfg, seq, err
}

// note records whether a version could be used. If the version in force fails now, the mistake is in the file.
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

// isOther reports whether the database has a version that this node has not tried yet.
func (m *managedConfig) isOther(ctx context.Context) bool {
	seq, err := m.store.Seq(ctx) // other code reports an unavailable database
	return err == nil && seq != m.inForce.Load() && seq != m.refused.Load()
}

// problem describes why the version in the database is not in force; it is empty if all is well.
func (m *managedConfig) problem() string {
	refused := m.refused.Load()
	if refused == 0 {
		return ""
	}
	return fmt.Sprintf("this node cannot use version %d; version %d stays in force, see the log for the reason",
		refused, m.inForce.Load())
}

// begin starts a gateway with the managed configuration.
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
		return fmt.Errorf("the managed configuration cannot be used (list its versions with weir config "+
			"versions, and go "+
			"back with weir config restore): %w", err)
	}
	o.Config = cfg
	m.note(seq, nil)
	return nil
}
