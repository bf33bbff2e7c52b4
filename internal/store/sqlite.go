package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"weir/internal/disk"
)

const (
	readers     = 4
	busyTimeout = "10000" // milliseconds that a connection waits for another process
	// cacheKiB bounds each connection's page cache. A report over one account's usage of a year fits into it.
	cacheKiB = "8192"
	// journalBytes is the size of the log after it is truncated at a restart
	// (https://sqlite.org/pragma.html#pragma_journal_size_limit). It is twice its usual size; the log is longer after
	// a long read or a large write.
	journalBytes = "8388608"
	// oldestSQLite is the first version without a bug that can corrupt a database in WAL mode. Versions 3.7.0 to
	// 3.51.2 have it (https://sqlite.org/wal.html, "the WAL-reset bug").
	oldestSQLite = "3.51.3"
)

// sqliteEngine returns the engine for the SQLite file at path, in WAL mode.
func sqliteEngine(path string) (*engine, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return &engine{
		migrations: "migrations/sqlite", dialect: goose.DialectSQLite3,
		exists:  func() error { _, err := os.Stat(path); return err },
		open:    func() (pools, error) { return sqlitePools(path) },
		prepare: func(ctx context.Context) (*sql.DB, func() error, error) { return sqlitePrepare(ctx, path) },
		check:   sqliteCheck,
		rowID:   "unhex(replace(c.request, '-', '') || CASE WHEN c.n = 1 THEN '' ELSE printf('%04x', c.n) END)",
		free:    func() (int64, error) { return disk.Free(filepath.Dir(path)) },
		noTable: func(err error) bool { return strings.Contains(err.Error(), "no such table") },
		rejects: sqliteRejects,
	}, nil
}

// sqliteRejects reports whether an error means that a value violates a constraint, is too long or has another type.
func sqliteRejects(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	switch e.Code() & 0xff { // the rest is an extended code
	case sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE:
		return true
	}
	return false
}

func sqlitePools(path string) (p pools, err error) {
	if err := privateFile(path); err != nil {
		return p, err
	}
	open := func(n int, params url.Values) (db *sql.DB) {
		if err == nil {
			db, err = sqlitePool(path, n, params)
		}
		return db
	}
	p.read = open(readers, url.Values{"_query_only": {"1"}})
	p.reports = open(reportConns, url.Values{"_query_only": {"1"}})
	p.fast = open(1, url.Values{"_txlock": {"immediate"}, "_synchronous": {"NORMAL"}})
	p.sure = open(1, url.Values{"_txlock": {"immediate"}, "_synchronous": {"FULL"}})
	p.erasing = open(1, url.Values{
		"_txlock": {"immediate"}, "_synchronous": {"FULL"}, "_pragma": {"secure_delete(1)"},
	})
	if err != nil {
		err = errors.Join(err, p.close())
	}
	return p, err
}

// privateFile creates the database file and its directory with access for the owner only. SQLite creates its other
// files with the same mode.
func privateFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// sqlitePool opens a pool of n connections that stay open. The driver applies busy_timeout before the other pragmas.
func sqlitePool(path string, n int, params url.Values) (*sql.DB, error) {
	params.Set("_busy_timeout", busyTimeout)
	params.Set("_foreign_keys", "1")
	params.Set("_dqs", "0")
	params.Add("_pragma", "cache_size(-"+cacheKiB+")")
	params.Add("_pragma", "journal_size_limit("+journalBytes+")")
	u := url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(path), "/"), RawQuery: params.Encode()}
	connector, err := sqlite.NewConnector(u.String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(sqliteConnector{connector})
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// sqlitePrepare locks out other processes that would migrate, and turns WAL mode on, which the file stores.
func sqlitePrepare(ctx context.Context, path string) (*sql.DB, func() error, error) {
	lock := flock.New(path+"-lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, lockRetry); err != nil {
		return nil, nil, fmt.Errorf("wait for another process that migrates %s: %w", path, err)
	}
	db, err := sqlitePool(path, 1, url.Values{
		"_txlock": {"immediate"}, "_synchronous": {"FULL"}, "_journal_mode": {"WAL"},
	})
	if err != nil {
		return nil, nil, errors.Join(err, lock.Unlock())
	}
	return db, func() error { return errors.Join(db.Close(), lock.Unlock()) }, nil
}

func sqliteCheck(ctx context.Context, db *sql.DB) (unready bool, err error) {
	var version, mode string
	if err := db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return false, err
	}
	if olderVersion(version, oldestSQLite) {
		return false, fmt.Errorf("this program contains SQLite %s, which can corrupt a database: build it with %s or"+
			" newer", version,
			oldestSQLite)
	}
	err = db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode)
	return mode != "wal", err
}

// olderVersion reports whether version a is older than b. Both are dotted numbers.
func olderVersion(a, b string) bool {
	var x, y [3]int
	_, _ = fmt.Sscanf(a, "%d.%d.%d", &x[0], &x[1], &x[2])
	_, _ = fmt.Sscanf(b, "%d.%d.%d", &y[0], &y[1], &y[2])
	for i := range x {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return false
}
