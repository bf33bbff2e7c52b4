package store

import (
	"context"
	"fmt"

	sqlite3 "modernc.org/sqlite/lib"
)

// SQLiteVersion returns the version of the embedded SQLite.
func SQLiteVersion() string { return sqlite3.SQLITE_VERSION }

// Version returns the name and version of the database engine, such as "SQLite 3.50.4" or "PostgreSQL 17.2".
func (s *DB) Version(ctx context.Context) (string, error) {
	if !s.engine.shared {
		return "SQLite " + SQLiteVersion(), nil
	}
	var version string
	if err := s.read.QueryRowContext(ctx, "SELECT current_setting('server_version')").Scan(&version); err != nil {
		return "", fmt.Errorf("read the database's version: %w", err)
	}
	return "PostgreSQL " + version, nil
}
