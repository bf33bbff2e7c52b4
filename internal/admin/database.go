package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
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
	there, err := hasData(cfg)
	if there || err != nil {
		return err
	}
	place, err := filepath.Abs(cfg.Data)
	if err != nil {
		place = cfg.Data
	}
	return fmt.Errorf("there is no installation in %s: run the command where weir serve runs, or name its data "+
		"directory with --data, or its configuration with --config", place)
}

// hasData reports whether the configuration names a database that exists, or one of a server.
func hasData(cfg *config.Config) (bool, error) {
	if !cfg.Database.IsZero() {
		return true, nil
	}
	_, err := os.Stat(filepath.Join(cfg.Data, databaseFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%w: run the command as the user of weir serve", err)
	}
	return true, nil
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
