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

	"weir/internal/backup"
	"weir/internal/config"
	"weir/internal/ledger"
	"weir/internal/store"
)

// Names in the data directory and in a backup.
const (
	databaseFile = "weir.db"
	packing      = ".backup-" // begins the name of a directory for the copy of a database
)

// BackupOptions say how an installation is backed up.
type BackupOptions struct {
	To         string // a file that is not there, or a directory for one that is named by the time
	SecretsKey bool   // with the key in the data directory that secrets in the database are sealed with
	Version    string // of this program
	Now        func() time.Time
	Copied     backup.Progress // of the database, in pages
	Packed     backup.Progress // in bytes
	Log        *slog.Logger
}

// BackedUp is what a backup has.
type BackedUp struct {
	Path     string
	Size     int64 // of the file, in bytes
	Manifest backup.Manifest
	// Sealed is how many secrets in the database nobody can read who has the backup alone.
	Sealed int
}

// Backup backs up an installation with SQLite, beside a gateway that may run on it. What the backup has is what was in
// the ledger when it began, and up to all that came while the database was copied.
func Backup(ctx context.Context, cfg config.Config, o BackupOptions) (done BackedUp, err error) {
	if !cfg.Database.IsZero() {
		return done, errors.New("`database` is set, so this installation is on PostgreSQL: back it up with pg_basebackup " +
			"or pg_dump, and keep the journal directory of each node (docs/backup.md)")
	}
	path, err := backupPath(o.To, o.Now())
	if err != nil {
		return done, err
	}
	db, err := store.OpenExisting(ctx, storeOptions(&cfg, o.Log))
	if err != nil {
		return done, err
	}
	d := Data{cfg: cfg, store: db}
	done, err = d.pack(ctx, path, &o)
	return done, errors.Join(err, db.Close())
}

// pack makes the file of a backup.
func (d *Data) pack(ctx context.Context, path string, o *BackupOptions) (done BackedUp, err error) {
	done.Path = path
	temp, err := os.MkdirTemp(filepath.Dir(path), packing)
	if err != nil {
		return done, fmt.Errorf("make a directory for the copy of the database: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	m := backup.Manifest{Created: o.Now().UTC(), Version: o.Version}
	w, err := backup.Create(path)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, w.Abandon()) }()
	// The journal comes first: the database is then at least where the journal's copy begins.
	if err := d.packJournals(ctx, w, &m, o.Packed); err != nil {
		return done, err
	}
	if err := d.packDatabase(ctx, w, &m, temp, o); err != nil {
		return done, err
	}
	if done.Sealed, err = d.packSecretsKey(ctx, w, o.SecretsKey); err != nil {
		return done, err
	}
	if done.Manifest, err = w.Finish(m); err != nil {
		return done, err
	}
	if _, err = backup.Extract(path, "", nil); err != nil { // the disk gives back what was written
		return done, err
	}
	info, err := os.Stat(path)
	if err == nil {
		done.Size = info.Size()
	}
	return done, err
}

// backupPath is the file that is written.
func backupPath(to string, now time.Time) (string, error) {
	info, err := os.Stat(to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return to, nil
	case err != nil:
		return "", err
	case info.IsDir():
		return filepath.Join(to, filepath.Base(backup.FullName(now))), nil
	}
	return to, nil // which Create refuses
}

// packJournals adds what the journals have that the database does not.
func (d *Data) packJournals(ctx context.Context, w *backup.Writer, m *backup.Manifest, progress backup.Progress) error {
	for _, dir := range journalDirs(d.cfg.Data) {
		id, ok, err := ledger.Identity(dir)
		if err != nil {
			return err
		}
		if !ok { // no gateway has run there yet
			continue
		}
		at, err := d.store.Ledger.Position(ctx, id)
		if err != nil {
			return err
		}
		names, err := ledger.SegmentsFrom(dir, at)
		if err != nil {
			return fmt.Errorf("read the journal: %w", err)
		}
		base := filepath.Base(dir)
		for _, name := range names {
			if err := w.Add(base+"/"+name, filepath.Join(dir, name), progress); err != nil {
				return err
			}
		}
		m.Journals = append(m.Journals, backup.Journal{ID: id.String(), Dir: base})
	}
	return nil
}

// packDatabase adds the database of one moment.
func (d *Data) packDatabase(ctx context.Context, w *backup.Writer, m *backup.Manifest, temp string, o *BackupOptions,
) error {
	path := filepath.Join(temp, databaseFile)
	if err := d.store.Snapshot(ctx, path, o.Copied); err != nil {
		return err
	}
	copied, err := store.OpenExisting(ctx, store.Options{Path: path, Log: o.Log})
	if err != nil {
		return err
	}
	status, err := copied.MigrationStatus(ctx)
	m.Schema = status.Current
	if err := errors.Join(err, copied.Close()); err != nil {
		return err
	}
	return w.Add(databaseFile, path, o.Packed)
}

// packSecretsKey adds the key file where it is wanted, and tells how many secrets cannot be read without it.
func (d *Data) packSecretsKey(ctx context.Context, w *backup.Writer, wanted bool) (sealed int, err error) {
	counts, err := d.store.Webhooks.SealedWith(ctx)
	if err != nil {
		return 0, err
	}
	for _, n := range counts {
		sealed += n
	}
	r, err := newRing(&d.cfg)
	if err != nil || !wanted {
		return sealed, err
	}
	if r.path == "" {
		return sealed, errors.New("the key is in the configuration (secrets.key), not in the data directory: keep a copy " +
			"of the configuration, and leave out --with-secrets-key")
	}
	err = w.Add(secretsFile, r.path, nil)
	if errors.Is(err, fs.ErrNotExist) { // nothing was sealed yet
		return sealed, nil
	}
	return 0, err
}
