package store

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"weir/internal/must"
)

// TestSQLiteRejectsValues checks which errors of SQLite mean that a value cannot be stored, whenever it is tried.
func TestSQLiteRejectsValues(t *testing.T) {
	t.Parallel()
	db := must.Get(sql.Open("sqlite", filepath.Join(t.TempDir(), "db")))(t)
	defer db.Close()
	must.Get(db.ExecContext(t.Context(), "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL CHECK (n < 9), b BLOB)"))(t)
	must.Get(db.ExecContext(t.Context(), "INSERT INTO t VALUES (1, 1, '')"))(t)
	for statement, want := range map[string]bool{
		"INSERT INTO t VALUES (2, NULL, '')":                true,
		"INSERT INTO t VALUES (2, 9, '')":                   true,
		"INSERT INTO t VALUES (1, 1, '')":                   true,
		"INSERT INTO t VALUES ('text', 1, '')":              true,
		"INSERT INTO t VALUES (2, 1, zeroblob(2000000000))": true,
		"INSERT INTO none VALUES (1)":                       false,
	} {
		_, err := db.ExecContext(t.Context(), statement)
		if err == nil || sqliteRejects(fmt.Errorf("apply batch: %w", err)) != want {
			t.Errorf("%s: got %v, want an error that rejects: %t", statement, err, want)
		}
	}
}
