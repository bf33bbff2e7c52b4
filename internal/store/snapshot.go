package store

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"
)

// snapshotPages is how many pages are copied between checks of the context.
const snapshotPages = 512

// OpenExisting opens an existing database without migrating it. It returns an error if the schema is newer than this
// program.
func OpenExisting(ctx context.Context, o Options) (*DB, error) {
	s, err := o.existing()
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	status, err := s.MigrationStatus(ctx)
	if err == nil {
		err = status.refuseNewer()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// existing calls connect; it returns an error if there is no database.
func (o *Options) existing() (*DB, error) {
	e, err := o.engine()
	if err == nil {
		err = e.exists()
	}
	if err != nil {
		return nil, err
	}
	return o.connect(e)
}

// Snapshot copies an SQLite database, as of one moment, to a new file while it is in use. SQLite's log grows until
// the copy is complete, because it cannot be checkpointed meanwhile. progress is in pages and may be nil.
//
// https://www.sqlite.org/backup.html
func (s *DB) Snapshot(ctx context.Context, to string, progress func(done, total int64)) (err error) {
	if s.engine.shared {
		return errors.New("only an SQLite database can be copied")
	}
	c, err := s.read.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	const begin = "BEGIN; SELECT count(*) FROM sqlite_schema" // the first read determines the moment
	if _, err := c.ExecContext(ctx, begin); err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	err = c.Raw(func(driver any) error { return copyPages(ctx, driver, to, progress) })
	_, rollback := c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	if err = errors.Join(err, rollback); err != nil {
		return fmt.Errorf("copy the database to %s: %w", to, err)
	}
	return nil
}

// copyPages copies the pages that the driver's connection reads.
func copyPages(ctx context.Context, driver any, to string, progress func(done, total int64)) (err error) {
	if c, wrapped := driver.(*sqliteConn); wrapped {
		driver = c.sqliteDriverConn
	}
	source, ok := driver.(interface {
		NewBackup(to string) (*sqlite.Backup, error)
	})
	if !ok {
		return fmt.Errorf("the driver's connection is a %T, which makes no backups", driver)
	}
	b, err := source.NewBackup(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Finish()) }()
	for more := true; more; {
		if more, err = b.Step(snapshotPages); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		total := int64(b.PageCount())
		if progress != nil {
			progress(total-int64(b.Remaining()), total)
		}
	}
	return nil
}
