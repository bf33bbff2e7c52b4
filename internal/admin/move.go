package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"weir/internal/config"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/store"
)

// MoveOptions holds the options of Move.
type MoveOptions struct {
	To       llm.Secret // a postgres:// URL
	Progress func(done, total int64)
	Log      *slog.Logger
}

// Move copies an installation's SQLite database to PostgreSQL. It returns the number of rows, and the number of those
// that an interrupted move had already copied. The journal stays in its directory. No gateway may run meanwhile.
func Move(ctx context.Context, cfg config.Config, o MoveOptions) (rows, kept int64, err error) {
	if !cfg.Database.IsZero() {
		return 0, 0, errors.New("`database` is set, so this installation is not on SQLite: there is nothing to move")
	}
	from := StoreOptions(&cfg, o.Log)
	dir, err := ledger.OwnDir(cfg.Data, false)
	if err != nil {
		return 0, 0, fmt.Errorf("lock the journal: %w", err)
	}
	unlock, err := ledger.Lock(ctx, dir)
	if err != nil {
		return 0, 0, fmt.Errorf("lock the journal: %w", err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	id, _, err := ledger.Identity(dir)
	if err != nil {
		return 0, 0, err
	}
	m, err := store.Move(ctx, store.MoveOptions{
		From: from, To: store.Options{URL: o.To, Log: o.Log}, ID: id.String(), Progress: o.Progress,
	})
	return m.Rows, m.Kept, err
}
