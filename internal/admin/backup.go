package admin

import (
	"cmp"
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
	"weir/internal/disk"
	"weir/internal/ledger"
	"weir/internal/store"
)

// packing is the prefix of the directory for a copy of the database.
const packing = ".backup-"

// BackupOptions says how to back up an installation.
type BackupOptions struct {
	To         string // a file that does not exist, or a directory for a file that is named after the time
	SecretsKey bool   // include the key in the data directory that seals the secrets in the database
	Version    string // of this program
	Now        func() time.Time
	Copied     backup.Progress // pages of the database
	Packed     backup.Progress // bytes
	Log        *slog.Logger
}

// BackedUp describes a backup.
type BackedUp struct {
	Path     string
	Size     int64 // of the file, in bytes
	Manifest backup.Manifest
	// Sealed is the number of secrets in the database that cannot be read from the backup alone, and Key is the place
	// of their key.
	Sealed int
	Key    string
	// KeyFile reports whether that place is an existing file, which a backup can include.
	KeyFile bool
}

// Backup backs up an installation on SQLite, while a gateway may run on it. The backup has the ledger as of its
// start, and at most the records that arrived while the database was copied.
func Backup(ctx context.Context, cfg config.Config, o BackupOptions) (done BackedUp, err error) {
	if !cfg.Database.IsZero() {
		return done, errors.New("`database` is set, so this installation is on PostgreSQL: back it up with " +
			"pg_basebackup or pg_dump, and keep the journal directory of each node (docs/backup.md)")
	}
	path, err := backupPath(o.To, o.Now())
	if err != nil {
		return done, err
	}
	db, err := store.OpenExisting(ctx, StoreOptions(&cfg, o.Log))
	if err != nil {
		return done, err
	}
	keys, err := openKeys(&cfg, db)
	if err == nil {
		p := packer{db, keys, cfg.Data}
		done, err = p.pack(ctx, path, &o)
	}
	return done, errors.Join(err, db.Close())
}

// packer packs an installation into the file of a backup.
type packer struct {
	store *store.DB
	keys  *KeyRing
	data  string // the data directory
}

// pack writes the file of a backup.
func (p *packer) pack(ctx context.Context, path string, o *BackupOptions) (done BackedUp, err error) {
	done.Path = path
	temp, err := os.MkdirTemp(filepath.Dir(path), packing)
	if err != nil {
		return done, fmt.Errorf("create a directory for the copy of the database: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	m := backup.Manifest{Created: o.Now().UTC(), Version: o.Version}
	w, err := backup.Create(path)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, w.Abandon()) }()
	// The journal comes first, so that the copy of the database covers the start of the copied journal.
	if err := p.packJournals(ctx, w, &m, o.Packed); err != nil {
		return done, err
	}
	if err := p.packDatabase(ctx, w, &m, temp, o); err != nil {
		return done, err
	}
	done.Key = cmp.Or(p.keys.path, "`secrets.key` of the configuration")
	done.KeyFile = p.keys.path != "" && disk.Exists(p.keys.path)
	if done.Sealed, err = p.packSecretsKey(ctx, w, o.SecretsKey); err != nil {
		return done, err
	}
	if done.Manifest, err = w.Finish(m); err != nil {
		return done, err
	}
	if _, err = backup.Extract(path, "", nil); err != nil { // check that the disk returns the written bytes
		return done, err
	}
	info, err := os.Stat(path)
	if err == nil {
		done.Size = info.Size()
	}
	return done, err
}

// backupPath returns the path of the file to write.
func backupPath(to string, now time.Time) (string, error) {
	info, err := os.Stat(to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if dir := filepath.Dir(to); !disk.Exists(dir) {
			return "", fmt.Errorf("the directory %s does not exist: create it, or choose another place", dir)
		}
		return to, nil
	case err != nil:
		return "", err
	case info.IsDir():
		return filepath.Join(to, filepath.Base(backup.FullName(now))), nil
	}
	return to, nil // Create refuses an existing file
}

// packJournals adds the records of the journals that the database does not have.
func (p *packer) packJournals(ctx context.Context, w *backup.Writer, m *backup.Manifest, progress backup.Progress,
) error {
	for _, dir := range ledger.Dirs(p.data) {
		id, ok, err := ledger.Identity(dir)
		if err != nil {
			return err
		}
		if !ok { // no gateway has run there yet
			continue
		}
		at, err := p.store.Ledger.Position(ctx, id)
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

// packDatabase adds a consistent copy of the database.
func (p *packer) packDatabase(ctx context.Context, w *backup.Writer, m *backup.Manifest, temp string, o *BackupOptions,
) error {
	path := filepath.Join(temp, databaseFile)
	if err := p.store.Snapshot(ctx, path, o.Copied); err != nil {
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

// packSecretsKey adds the key file if wanted. It returns how many secrets the backup cannot decrypt: 0 if it contains
// the key file.
func (p *packer) packSecretsKey(ctx context.Context, w *backup.Writer, wanted bool) (sealed int, err error) {
	counts, err := p.store.Webhooks.SealedWith(ctx)
	if err != nil {
		return 0, err
	}
	for _, n := range counts {
		sealed += n
	}
	if !wanted {
		return sealed, nil
	}
	if p.keys.path == "" {
		return sealed, errors.New("the key is in the configuration (secrets.key), not in the data directory: " +
			"keep a copy " +
			"of the configuration, and leave out --with-secrets-key")
	}
	err = w.Add(secretsFile, p.keys.path, nil)
	if errors.Is(err, fs.ErrNotExist) { // no secret has been sealed yet
		return sealed, nil
	}
	return 0, err
}
