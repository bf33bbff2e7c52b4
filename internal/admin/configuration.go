package admin

import (
	"context"
	"fmt"
	"sync/atomic"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/managed"
	"weir/internal/route"
	"weir/internal/store"
)

// Configuration reads and changes the managed configuration, which is sealed in the database.
type Configuration struct {
	store    *store.Managed
	keys     *KeyRing
	accounts *account.Service
	files    config.Options
	getenv   func(string) string
	pipeline func(*route.Table) CallHandler // nil in commands
	trials   chan struct{}                  // running tests of providers

	inForce atomic.Int64 // version in force on this node; 0 for none
	refused atomic.Int64 // version that this node cannot use; 0 for none
}

func newConfiguration(o *Options, keys *KeyRing, accounts *account.Service) *Configuration {
	return &Configuration{
		store: o.Store.Managed, keys: keys, accounts: accounts, files: o.Files, getenv: o.Getenv, pipeline: o.Pipeline,
		trials: make(chan struct{}, mostTrials),
	}
}

// document returns the JSON document of a version and the version's number. For seq 0 it returns the version in
// force, or nil and 0 if there is none.
func (c *Configuration) document(ctx context.Context, seq int64) (text []byte, at int64, err error) {
	v, err := c.store.Version(ctx, seq)
	if err != nil || v.Seq == 0 {
		return nil, 0, err
	}
	text, err = c.keys.Open(v.Sealed, managed.About)
	if err != nil {
		return nil, v.Seq, fmt.Errorf("open version %d of the managed configuration: %w", v.Seq, err)
	}
	return text, v.Seq, nil
}

// parsed returns the parsed document of a version.
func (c *Configuration) parsed(ctx context.Context, seq int64) (config.Document, int64, error) {
	text, at, err := c.document(ctx, seq)
	if err != nil {
		return nil, at, err
	}
	doc, err := config.ParseDocument("managed configuration", text)
	return doc, at, err
}

// put stores a document as the version after the one numbered after.
func (c *Configuration) put(ctx context.Context, by audit.Actor, after int64, doc config.Document,
	changes []managed.Change,
) error {
	text, err := doc.JSON()
	if err != nil {
		return err
	}
	sealed, err := c.keys.Sealed(ctx, text, managed.About)
	if err != nil {
		return fmt.Errorf("seal the managed configuration: %w", err)
	}
	return c.store.Put(ctx, by, after, sealed, changes)
}

// Listed returns at most that many of the newest versions of the managed configuration, newest first.
func (c *Configuration) Listed(ctx context.Context, most int) ([]managed.Version, error) {
	return c.store.Versions(ctx, 0, most)
}

// Document returns the managed objects, and the manageable objects of the configuration file, without secrets.
func (c *Configuration) Document(ctx context.Context) (config.Document, error) {
	doc, _, err := c.parsed(ctx, 0)
	if err != nil {
		return nil, err
	}
	file, err := config.FileDocument(c.files)
	if err != nil {
		return nil, err
	}
	return doc.With(file.Document, false).Hidden(), nil
}

// Load reads the configuration with the managed part, and returns the version of that part.
func (c *Configuration) Load(ctx context.Context, reload func([]byte) (config.Config, error)) (
	cfg config.Config, seq int64, err error,
) {
	text, seq, err := c.document(ctx, 0)
	if err == nil {
		cfg, err = reload(text)
	}
	return cfg, seq, err
}

// Note records whether a version could be used. If the version in force fails now, the mistake is in the file.
func (c *Configuration) Note(seq int64, err error) {
	if err != nil {
		if seq != c.inForce.Load() {
			c.refused.Store(seq)
		}
		return
	}
	c.inForce.Store(seq)
	c.refused.Store(0)
}

// IsOther reports whether the database has a version that this node has not tried yet.
func (c *Configuration) IsOther(ctx context.Context) bool {
	seq, err := c.store.Seq(ctx) // other code reports an unavailable database
	return err == nil && seq != c.inForce.Load() && seq != c.refused.Load()
}

// Problem describes why the version in the database is not in force; it is empty if all is well.
func (c *Configuration) Problem() string {
	refused := c.refused.Load()
	if refused == 0 {
		return ""
	}
	return fmt.Sprintf("this node cannot use version %d; version %d stays in force, see the log for the reason",
		refused, c.inForce.Load())
}

// Begin returns the configuration with the managed part, for a starting gateway; nil if nothing is managed.
func (c *Configuration) Begin(ctx context.Context, reload func([]byte) (config.Config, error)) (*config.Config, error) {
	text, seq, err := c.document(ctx, 0)
	if err == nil && seq == 0 {
		return nil, nil //nolint:nilnil // nothing is managed
	}
	var cfg config.Config
	if err == nil {
		cfg, err = reload(text)
	}
	if err != nil {
		return nil, fmt.Errorf("the managed configuration cannot be used (list its versions with weir config "+
			"versions, and go back with weir config restore): %w", err)
	}
	c.Note(seq, nil)
	return &cfg, nil
}
