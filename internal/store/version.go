package store

import (
	"context"
	"fmt"

	sqlite3 "modernc.org/sqlite/lib"
)

// SQLiteVersion is the version of the embedded database engine.
func SQLiteVersion() string { return sqlite3.SQLITE_VERSION }

// Version is the name and version of the database program, such as "SQLite
// 3.50.4" or "PostgreSQL 17.2".
func (s *DB) Version(ctx context.Context) (string, error) {
	if !s.engine.shared {
		return "SQLite " + SQLiteVersion(), nil
	}
	var version string
	if err := s.read.QueryRowContext(ctx, "SELECT current_setting('server_version')").Scan(&version); err != nil {
		return "", fmt.Errorf("read version of the database: %w", err)
	}
	return "PostgreSQL " + version, nil
}
