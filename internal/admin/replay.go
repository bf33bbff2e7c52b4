package admin

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"weir/internal/ledger"
	"weir/internal/store"
)

// Replay writes a journal to the database, and settles its open attempts as unknown.
func Replay(ctx context.Context, db *store.DB, dir string, log *slog.Logger) error {
	id, ok, err := ledger.Identity(dir)
	if err != nil || !ok {
		return err
	}
	l, err := ledger.New(ctx, ledger.Options{
		Dir: dir, Store: db.Ledger, Leases: db.Leases, Now: time.Now, SharedNow: db.Now, Log: log,
	})
	if err != nil {
		return fmt.Errorf("open the journal %s: %w", dir, err)
	}
	if err := l.Close(ctx); err != nil {
		return fmt.Errorf("write the journal %s to the database: %w", dir, err)
	}
	if lost := l.Lost(); lost > 0 {
		return fmt.Errorf("%d bytes of the journal %s cannot be read", lost, dir)
	}
	_, err = db.Kept.IdempotencyRelease(ctx, id.String(), uuid.NewString())
	return err
}
