package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
)

// migrations holds the schema's migrations. New ones are added at the end; released ones never change.
//
//go:embed migrations
var migrations embed.FS

const lockRetry = 10 * time.Millisecond

// MigrationStatus describes the version of a database's schema.
type MigrationStatus struct {
	Current int64 // the version of the database; 0 if it is empty
	Target  int64 // the version that this program needs
	// Least is the oldest program version that can use a database that is newer than this program; 0 otherwise.
	Least int64
}

// Pending reports whether the database has to be migrated.
func (m MigrationStatus) Pending() bool { return m.Current < m.Target }

// CheckMigrations returns the status of a database's schema and changes nothing. It returns an error if there is no
// database.
func CheckMigrations(ctx context.Context, o Options) (status MigrationStatus, err error) {
	s, err := o.existing()
	if err != nil {
		return status, fmt.Errorf("check migrations: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.MigrationStatus(ctx)
}

// MigrationStatus returns the status of the schema. After Open has succeeded, nothing is pending.
func (s *DB) MigrationStatus(ctx context.Context) (MigrationStatus, error) {
	target, err := newestMigration(s.engine.migrations)
	if err != nil {
		return MigrationStatus{}, err
	}
	status := MigrationStatus{Target: target}
	const query = "SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied"
	err = s.read.QueryRowContext(ctx, query).Scan(&status.Current)
	if err != nil && !s.engine.noTable(err) {
		return status, fmt.Errorf("read schema version: %w", err)
	}
	if status.Current <= target {
		return status, nil
	}
	err = s.read.QueryRowContext(ctx, "SELECT least FROM schema_compatibility").Scan(&status.Least)
	if err != nil {
		return status, fmt.Errorf("read the oldest version that can use the schema: %w", err)
	}
	return status, nil
}

// newestMigration returns the highest migration number in the directory.
func newestMigration(dir string) (newest int64, err error) {
	files, err := fs.ReadDir(migrations, dir)
	if err != nil {
		return 0, fmt.Errorf("list migrations: %w", err)
	}
	for _, f := range files {
		number, _, _ := strings.Cut(f.Name(), "_")
		v, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("migration %s: its name does not begin with a number", f.Name())
		}
		newest = max(newest, v)
	}
	return newest, nil
}

// migrate brings the schema up to date. If it is up to date, that takes three small queries.
func (s *DB) migrate(ctx context.Context) error {
	unready, err := s.engine.check(ctx, s.read)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	status, err := s.MigrationStatus(ctx)
	if err == nil {
		err = status.refuseNewer()
	}
	if err != nil || !unready && !status.Pending() {
		return err
	}
	if err := s.engine.up(ctx, s.log); err != nil {
		return fmt.Errorf("migrate database: %w", err)
	}
	if status, err = s.MigrationStatus(ctx); err != nil {
		return err
	}
	return status.refuseNewer()
}

// refuseNewer returns an error if this program cannot use the schema. It can use the schema of a newer program that
// only added to it, so that nodes can be upgraded one after the other, and an upgrade can be undone.
func (m MigrationStatus) refuseNewer() error {
	if m.Current <= m.Target || m.Least <= m.Target {
		return nil
	}
	return fmt.Errorf("the database has schema version %d, but this weir supports versions up to %d: a newer weir has "+
		"used it; run the newer weir, or restore an older backup", m.Current, m.Target)
}

// up applies the pending migrations, each in its own transaction, so that an interrupted one leaves no trace. It logs
// them unless the database is new.
func (e *engine) up(ctx context.Context, log *slog.Logger) (err error) {
	db, release, err := e.prepare(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	files, err := fs.Sub(migrations, e.migrations)
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(e.dialect, db, files)
	if err != nil {
		return err
	}
	before, err := p.GetDBVersion(ctx)
	if err != nil {
		return err
	}
	for {
		done, err := p.UpByOne(ctx)
		if errors.Is(err, goose.ErrNoNextVersion) {
			return nil
		}
		if err != nil {
			return err
		}
		if before == 0 { // a new database
			continue
		}
		log.Info("migration applied", "migration", done.Source.Path, "took",
			done.Duration.Round(time.Millisecond).String())
	}
}
