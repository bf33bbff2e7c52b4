package app

import (
	"context"
	"path/filepath"

	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/llm"
	"weir/internal/managed"
)

// ObjectChange describes the change of an object of the managed configuration.
type ObjectChange struct {
	Ref       managed.Ref
	New       bool              // the object must not exist yet; otherwise it must exist
	Members   map[string]string // see config.Document.Set
	AddKey    llm.Secret        // for a provider; zero for none
	RemoveKey string            // see config.Document.SetKeys
}

// ChangeObject changes an object, or creates it.
func (d *Data) ChangeObject(ctx context.Context, by audit.Actor, c *ObjectChange, o ApplyOptions) (
	[]managed.Change, error,
) {
	m, err := newManaged(&d.cfg, d.store)
	if err != nil {
		return nil, err
	}
	doc, seq, err := m.parsed(ctx, 0)
	if err != nil {
		return nil, err
	}
	file, err := config.FileDocument(o.File)
	if err != nil {
		return nil, err
	}
	inForce := doc.With(file.Document, false).Hidden()
	if _, there := inForce[c.Ref.Section][c.Ref.Name]; there == c.New {
		if there {
			return nil, llm.Invalidf(c.Ref.Section, "%s already exists: change it, or choose another name.",
				c.Ref.Name)
		}
		return nil, llm.Invalidf(c.Ref.Section, "There is no %s in the configuration: add it first.", c.Ref.Name)
	}
	change := inForce.Set(c.Ref, c.Members)
	if err := change.SetKeys(c.Ref, c.AddKey, c.RemoveKey); err != nil {
		return nil, err
	}
	o.After = &seq
	r, err := m.apply(ctx, by, change, o)
	return r.Changes, err
}

// ReadManaged adds the managed configuration to the options, and returns the source of each object. Without a
// database there is no managed configuration.
func (o *Options) ReadManaged(ctx context.Context) ([]managed.Object, error) {
	doc := config.Document{}
	if !o.Config.Database.IsZero() || exists(filepath.Join(o.Config.Data, databaseFile)) {
		d, err := OpenData(ctx, o.Config, o.Log)
		if err != nil {
			return nil, err
		}
		defer d.Close() //nolint:errcheck // it was only read
		if doc, err = d.managed(ctx); err != nil {
			return nil, err
		}
	}
	from := o.ConfigFrom
	var err error
	if from.Managed, err = doc.JSON(); err != nil {
		return nil, err
	}
	if o.Config, err = config.Load(from); err != nil {
		return nil, err
	}
	return config.Objects(o.ConfigFrom, doc)
}

// TestProvider tests a provider like a gateway on this data directory, with a journal of its own.
func TestProvider(ctx context.Context, o Options, by audit.Actor, t managed.Trial) (f managed.Finding, err error) {
	if o.JournalDir, err = awaitJournal(ctx, o.Config.Data, true); err != nil {
		return f, err
	}
	g, err := build(ctx, &o)
	if err != nil {
		return f, err
	}
	f, err = g.managed.Test(ctx, by, t)
	if closed := g.close(); err == nil {
		err = closed
	}
	return f, err
}
