package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"weir/internal/audit"
	"weir/internal/backup"
	"weir/internal/config"
	"weir/internal/disk"
	"weir/internal/ledger"
	"weir/internal/report"
	"weir/internal/store"
)

// restoring names the directory, in the data directory, in which a restore works until it is done.
const restoring = ".restoring"

// RestoreOptions says how to restore an installation.
type RestoreOptions struct {
	// From is a file from Backup, or a target of automatic backups: a directory, or s3://BUCKET/PREFIX.
	From string
	// Until limits the restored records of such a target to those before a time; zero means all.
	Until    time.Time
	Unpacked backup.Progress
	Verified func(done, total int64) // in rows
	By       audit.Actor
	Log      *slog.Logger
}

// Restored reports the result of a restore.
type Restored struct {
	Manifest backup.Manifest
	// AsOf is the time of the last restored record of the ledger.
	AsOf         time.Time
	Verification report.Verification
	// Sealed is the number of secrets in the database whose key is neither in the backup nor in the configuration, and
	// KeyFile the path of the file that may have it.
	Sealed  int
	KeyFile string
}

// Restore creates a data directory from a backup, in a directory that is empty or missing. It writes the journal of
// the backup to the database, and settles its open attempts as unknown; the next gateway starts a new journal. An
// interrupted restore can be started again.
func Restore(ctx context.Context, cfg config.Config, o RestoreOptions) (done Restored, err error) {
	if !cfg.Database.IsZero() {
		return done, errors.New("`database` is set, but a backup can only be restored to SQLite: remove it, and " +
			"move the installation to PostgreSQL afterwards with weir move")
	}
	if _, err := os.Stat(o.From); err != nil && !strings.HasPrefix(o.From, "s3://") {
		return done, fmt.Errorf("%s cannot be read: %w", o.From, errors.Unwrap(err))
	}
	work, isNew := filepath.Join(cfg.Data, restoring), !disk.Exists(cfg.Data)
	if err := prepareRestore(cfg.Data, work); err != nil {
		return done, err
	}
	defer func() {
		if err != nil { // delete the files of a refused backup
			err = errors.Join(err, os.RemoveAll(work))
		}
		if err != nil && isNew {
			_ = os.Remove(cfg.Data) // unless it has files by now
		}
	}()
	if done.Manifest, done.AsOf, err = unpack(ctx, &cfg, work, &o); err != nil {
		return done, err
	}
	if err = finishBackup(ctx, &cfg, work, &o, &done); err != nil {
		return done, err
	}
	// the database last, because it makes the directory valid
	for _, name := range []string{secretsFile, databaseFile} {
		if !done.Manifest.Has(name) {
			continue
		}
		if err := os.Rename(filepath.Join(work, name), filepath.Join(cfg.Data, name)); err != nil {
			return done, err
		}
	}
	return done, os.RemoveAll(work)
}

// unpack writes the files of a backup to a directory, and the journal records since then.
func unpack(ctx context.Context, cfg *config.Config, dir string, o *RestoreOptions) (m backup.Manifest, asOf time.Time,
	err error,
) {
	info, err := os.Stat(o.From)
	if err == nil && !info.IsDir() {
		m, err = extract(o.From, dir, o)
		return m, m.Created, err
	}
	if err != nil && !strings.HasPrefix(o.From, "s3://") {
		return m, asOf, err
	}
	target, err := backup.OpenTarget(o.From, bucketOptions(cfg))
	if err != nil {
		return m, asOf, err
	}
	path := filepath.Join(dir, "full.backup")
	if err := fetchFull(ctx, target, path, o); err != nil {
		return m, asOf, err
	}
	if m, err = extract(path, dir, o); err != nil {
		return m, asOf, err
	}
	asOf = m.Created
	for _, j := range m.Journals {
		last, err := fetchJournal(ctx, target, j.ID, filepath.Join(dir, j.Dir), o.Until)
		if err != nil {
			return m, asOf, err
		}
		if last.After(asOf) {
			asOf = last
		}
	}
	return m, asOf, os.Remove(path)
}

// extract unpacks a backup, and refuses one with unknown files or journals.
func extract(path, dir string, o *RestoreOptions) (backup.Manifest, error) {
	m, err := backup.Extract(path, dir, o.Unpacked)
	if err != nil {
		return m, err
	}
	for _, f := range m.Files {
		folder, _, inFolder := strings.Cut(f.Name, "/")
		if inFolder && slices.Contains(ledger.DirNames(), folder) || f.Name == databaseFile || f.Name == secretsFile {
			continue
		}
		return m, fmt.Errorf("%s contains the unknown file %q: it was changed, use another backup", path, f.Name)
	}
	for _, j := range m.Journals {
		if !slices.Contains(ledger.DirNames(), j.Dir) {
			return m, fmt.Errorf("%s contains a journal in the unknown directory %q: it was changed, use another "+
				"backup", path, j.Dir)
		}
	}
	return m, nil
}

// fetchFull copies the newest backup of the database to a file.
func fetchFull(ctx context.Context, target backup.Target, path string, o *RestoreOptions) error {
	fulls, err := backup.Fulls(ctx, target)
	if err != nil {
		return err
	}
	newest := ""
	for _, began := range fulls {
		if o.Until.IsZero() || !began.After(o.Until) {
			newest = backup.FullName(began)
		}
	}
	if newest == "" {
		return fmt.Errorf("%s has no backup of a database (full/weir-*.backup) from before the requested time: "+
			"choose a "+
			"later time", o.From)
	}
	from, err := target.Get(ctx, newest)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // it is only read
	to, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// fetchJournal appends the target's records of a journal to those in a directory, and returns the time of the last
// one.
func fetchJournal(ctx context.Context, target backup.Target, journal, dir string, until time.Time) (asOf time.Time,
	err error,
) {
	at, err := ledger.End(dir)
	if err != nil {
		return asOf, err
	}
	chunks, err := backup.Chunks(ctx, target, journal)
	if err != nil {
		return asOf, err
	}
	for i := range chunks {
		c := &chunks[i]
		behind := c.Segment > at.Segment || c.Segment == at.Segment && c.Offset+c.Length > at.Offset
		if !behind || !until.IsZero() && c.At.After(until) {
			continue
		}
		if c.Segment == at.Segment && c.Offset > at.Offset || c.Segment > at.Segment && c.Offset > 0 {
			return asOf, fmt.Errorf("journal records are missing before %s: restore with --until and an earlier time",
				c.Name())
		}
		if err := fetchChunk(ctx, target, c, filepath.Join(dir, c.Segment)); err != nil {
			return asOf, fmt.Errorf("%s: %w", c.Name(), err)
		}
		at, asOf = ledger.Extent{Segment: c.Segment, Offset: c.Offset + c.Length}, c.At
	}
	return asOf, nil
}

func fetchChunk(ctx context.Context, target backup.Target, c *backup.Chunk, path string) error {
	from, err := target.Get(ctx, c.Name())
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // it is only read
	z, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer z.Close()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(io.NewOffsetWriter(to, c.Offset), io.LimitReader(z, c.Length+1))
	if err == nil && n != c.Length {
		err = fmt.Errorf("it has %d bytes, not %d", n, c.Length)
	}
	return errors.Join(err, to.Sync(), to.Close())
}

// prepareRestore creates the working directory, and refuses a data directory that is not empty.
func prepareRestore(data, work string) error {
	entries, err := os.ReadDir(data)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if e.Name() != restoring {
			return fmt.Errorf("%s is not empty, it contains %s: choose an empty directory with --data", data, e.Name())
		}
	}
	if err := os.RemoveAll(work); err != nil { // left by an interrupted restore
		return err
	}
	return os.MkdirAll(work, 0o700)
}

// finishBackup writes the journals in a directory to the database there, deletes them, and verifies the ledger.
func finishBackup(ctx context.Context, cfg *config.Config, dir string, o *RestoreOptions, done *Restored) (err error) {
	db, err := store.Open(ctx, store.Options{Path: filepath.Join(dir, databaseFile), Log: o.Log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, journal := range ledger.Dirs(dir) {
		if err := endJournal(ctx, db, journal, o); err != nil {
			return err
		}
	}
	if err := countSealed(ctx, cfg, dir, db, done); err != nil {
		return err
	}
	done.Verification, err = db.Ledger.Verify(ctx, o.Verified)
	return err
}

// countSealed counts the secrets whose key is neither in the restored directory nor in the configuration.
func countSealed(ctx context.Context, cfg *config.Config, dir string, db *store.DB, done *Restored) error {
	restored := *cfg
	restored.Data, done.KeyFile = dir, filepath.Join(cfg.Data, secretsFile)
	keys, err := openKeys(&restored, db)
	if err != nil {
		return err
	}
	counts, err := db.Webhooks.SealedWith(ctx)
	for name, n := range counts {
		if !keys.Has(name) {
			done.Sealed += n
		}
	}
	return err
}

// endJournal writes a journal to the database, and deletes the journal and its node.
func endJournal(ctx context.Context, db *store.DB, dir string, o *RestoreOptions) error {
	id, ok, err := ledger.Identity(dir)
	if err == nil && ok {
		if err = Replay(ctx, db, dir, o.Log); err == nil {
			err = db.Leases.ForgetNode(ctx, o.By, id)
		}
	}
	if err != nil && !errors.Is(err, store.ErrNoNode) {
		return err
	}
	return os.RemoveAll(dir)
}
