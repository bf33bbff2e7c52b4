package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"weir/internal/audit"
	"weir/internal/backup"
	"weir/internal/config"
	"weir/internal/ledger"
	"weir/internal/report"
	"weir/internal/store"
)

// restoring is the directory, in the data directory, in which a restore works until it is done.
const restoring = ".restoring"

// RestoreOptions say how an installation is restored.
type RestoreOptions struct {
	From     string // a file that Backup made
	Unpacked backup.Progress
	Verified func(done, total int64) // in rows
	By       audit.Actor
	Log      *slog.Logger
}

// Restored is what came of a restore.
type Restored struct {
	Manifest     backup.Manifest
	Verification report.Verification
	// SecretsKey says that the backup had the key that secrets in the database are sealed with.
	SecretsKey bool
}

// Restore makes a data directory from a backup, in a directory that is empty or not there. The journal of the backup
// is written to the database, and attempts that were open are settled as unknown; the next gateway begins a journal of
// its own. An interrupted restore can be started again.
func Restore(ctx context.Context, cfg config.Config, o RestoreOptions) (done Restored, err error) {
	if !cfg.Database.IsZero() {
		return done, errors.New("`database` is set, and a backup is restored to SQLite: leave it out, and move the " +
			"installation to PostgreSQL afterwards with weir move")
	}
	work := filepath.Join(cfg.Data, restoring)
	if err := prepareRestore(cfg.Data, work); err != nil {
		return done, err
	}
	if done.Manifest, err = backup.Extract(o.From, work, o.Unpacked); err != nil {
		return done, err
	}
	if done.Verification, err = finishBackup(ctx, work, &o); err != nil {
		return done, err
	}
	done.SecretsKey = done.Manifest.Has(secretsFile)
	for _, name := range []string{secretsFile, databaseFile} { // the database last: with it, the directory is in use
		if !done.Manifest.Has(name) {
			continue
		}
		if err := os.Rename(filepath.Join(work, name), filepath.Join(cfg.Data, name)); err != nil {
			return done, err
		}
	}
	return done, os.RemoveAll(work)
}

// prepareRestore makes the directory to work in, and refuses a data directory that has anything.
func prepareRestore(data, work string) error {
	entries, err := os.ReadDir(data)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if e.Name() != restoring {
			return fmt.Errorf("%s is not empty: it has %s; name an empty directory with --data", data, e.Name())
		}
	}
	if err := os.RemoveAll(work); err != nil { // of a restore that was interrupted
		return err
	}
	return os.MkdirAll(work, 0o700)
}

// finishBackup writes the journal in a directory to the database there, takes the journal away, and verifies the ledger.
func finishBackup(ctx context.Context, dir string, o *RestoreOptions) (v report.Verification, err error) {
	db, err := store.Open(ctx, store.Options{Path: filepath.Join(dir, databaseFile), Log: o.Log})
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := replay(ctx, db, filepath.Join(dir, journalName), o); err != nil {
		return v, err
	}
	return db.Ledger.Verify(ctx, o.Verified)
}

// replay ends the life of the node whose journal it is.
func replay(ctx context.Context, db *store.DB, journal string, o *RestoreOptions) error {
	id, ok, err := ledger.Identity(journal)
	if err != nil || !ok {
		return err
	}
	l, err := ledger.New(ctx, ledger.Options{
		Dir: journal, Store: db.Ledger, Leases: db.Leases, Now: time.Now, SharedNow: db.Now, Log: o.Log,
	})
	if err != nil {
		return fmt.Errorf("open the journal of the backup: %w", err)
	}
	if err := l.Close(ctx); err != nil {
		return fmt.Errorf("write the journal of the backup to the database: %w", err)
	}
	if lost := l.Lost(); lost > 0 {
		return fmt.Errorf("%d bytes of the journal in the backup cannot be read", lost)
	}
	if _, err := db.Kept.IdempotencyRelease(ctx, id.String(), uuid.NewString()); err != nil {
		return err
	}
	if err := db.Leases.ForgetNode(ctx, o.By, id); err != nil {
		return err
	}
	return os.RemoveAll(journal)
}
