package admin

import (
	"context"
	"log/slog"

	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/llm"
	"weir/internal/managed"
	"weir/internal/store"
	"weir/internal/upstream"
)

// ObjectChange describes the change of an object of the managed configuration.
type ObjectChange struct {
	Ref       managed.Ref
	New       bool              // the object must not exist yet; otherwise it must exist
	Members   map[string]string // see config.Document.Set
	AddKey    llm.Secret        // for a provider; zero for none
	RemoveKey string            // see config.Document.SetKeys
	DryRun    bool              // change nothing
}

// Change changes an object, or creates it.
func (c *Configuration) Change(ctx context.Context, by audit.Actor, x *ObjectChange) (r managed.Result, err error) {
	doc, seq, err := c.parsed(ctx, 0)
	if err != nil {
		return r, err
	}
	file, err := config.FileDocument(c.files)
	if err != nil {
		return r, err
	}
	inForce := doc.With(file.Document, false).Hidden()
	if _, there := inForce[x.Ref.Section][x.Ref.Name]; there == x.New {
		if there {
			return r, llm.Invalidf(x.Ref.Section, "%s already exists: change it, or choose another name.",
				x.Ref.Name)
		}
		return r, llm.Invalidf(x.Ref.Section, "There is no %s in the configuration: add it first.", x.Ref.Name)
	}
	change := inForce.Set(x.Ref, x.Members)
	if err := change.SetKeys(x.Ref, x.AddKey, x.RemoveKey); err != nil {
		return r, err
	}
	return c.apply(ctx, by, change, &managed.Edit{DryRun: x.DryRun, After: &seq})
}

// ReadManaged adds the managed configuration to the options, and returns the source of each object. It changes nothing.
func ReadManaged(ctx context.Context, from config.Options, o *upstream.Options) ([]managed.Object, error) {
	text, err := ManagedText(ctx, &o.Config, o.Log)
	if err != nil {
		return nil, err
	}
	doc, err := config.ParseDocument("managed configuration", text)
	if err != nil {
		return nil, err
	}
	file := from
	from.Managed = text
	if o.Config, err = config.Load(from); err != nil {
		return nil, err
	}
	return config.Objects(file, doc)
}

// ManagedText returns the managed configuration of an existing database in JSON; nil if there is none. It changes
// nothing.
func ManagedText(ctx context.Context, cfg *config.Config, log *slog.Logger) ([]byte, error) {
	if there, err := hasData(cfg); !there {
		return nil, err
	}
	db, err := store.OpenExisting(ctx, StoreOptions(cfg, log))
	if err != nil {
		return nil, err
	}
	defer db.Close() //nolint:errcheck // it was only read
	if schema, err := db.MigrationStatus(ctx); err != nil || schema.Current == 0 {
		return nil, err // an empty database
	}
	keys, err := openKeys(cfg, db)
	if err != nil {
		return nil, err
	}
	c := Configuration{store: db.Managed, keys: keys}
	text, _, err := c.document(ctx, 0)
	return text, err
}
