package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"weir/internal/config"
	"weir/internal/store"
)

// databaseFile is the name of the SQLite database in the data directory and in a backup.
const databaseFile = "weir.db"

// OpenStore opens the database of the configuration.
func OpenStore(ctx context.Context, cfg *config.Config, log *slog.Logger) (*store.DB, error) {
	return store.Open(ctx, StoreOptions(cfg, log))
}

// RequireData returns an error if the configuration names a data directory without a database, which a command would
// create if it opened it.
func RequireData(cfg *config.Config) error {
	if !cfg.Database.IsZero() || isThere(filepath.Join(cfg.Data, databaseFile)) {
		return nil
	}
	place, err := filepath.Abs(cfg.Data)
	if err != nil {
		place = cfg.Data
	}
	return fmt.Errorf("there is no installation in %s: run the command where weir serve runs, or name its data "+
		"directory with --data, or its configuration with --config", place)
}

// StoreOptions returns the options of the database of the configuration.
func StoreOptions(cfg *config.Config, log *slog.Logger) store.Options {
	return store.Options{Path: filepath.Join(cfg.Data, databaseFile), URL: cfg.Database, Log: log}
}

// SQLiteVersion returns the version of the embedded SQLite.
func SQLiteVersion() string { return store.SQLiteVersion() }

// Migration holds the version of a database's schema.
type Migration struct {
	Current, Target int64
	Pending         bool
}

// Migrate migrates the schema to the newest version, or only reads its version if onlyLook is set.
func Migrate(ctx context.Context, cfg config.Config, log *slog.Logger, onlyLook bool) (Migration, error) {
	if onlyLook {
		m, err := store.CheckMigrations(ctx, StoreOptions(&cfg, log))
		return Migration{m.Current, m.Target, m.Pending()}, err
	}
	db, err := OpenStore(ctx, &cfg, log)
	if err != nil {
		return Migration{}, err
	}
	m, err := db.MigrationStatus(ctx)
	return Migration{m.Current, m.Target, m.Pending()}, errors.Join(err, db.Close())
}
