package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"modernc.org/sqlite"

	"weir/internal/must"
)

// onePrepared returns a database with the table t (id, name) of three rows, and its only connection.
func onePrepared(t testing.TB) (*sql.DB, func() *sqliteConn) {
	t.Helper()
	db := must.Get(sqlitePool(filepath.Join(t.TempDir(), "weir.db"), 1, map[string][]string{}))(t)
	t.Cleanup(func() { must.Do(t, db.Close()) })
	must.Get(db.ExecContext(t.Context(), "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)"))(t)
	must.Get(db.ExecContext(t.Context(), "INSERT INTO t (name) VALUES ('a'), ('b'), ('c')"))(t)
	return db, func() (inner *sqliteConn) {
		conn := must.Get(db.Conn(context.Background()))(t)
		defer func() { must.Do(t, conn.Close()) }()
		must.Do(t, conn.Raw(func(c any) error { inner = c.(*sqliteConn); return nil }))
		return inner
	}
}

// TestStatementsStayPrepared checks that statements that read or write rows are reused, and that failed ones and others
// are not.
func TestStatementsStayPrepared(t *testing.T) {
	t.Parallel()
	db, conn := onePrepared(t)
	const read, write = "SELECT name FROM t WHERE id = ?", "UPDATE t SET name = ? WHERE id = ?"
	for i := range 10 {
		must.Get(db.ExecContext(t.Context(), write, fmt.Sprint("n", i), 2))(t)
		var name string
		must.Do(t, db.QueryRowContext(t.Context(), read, 2).Scan(&name))
		must.Equal(t, name, fmt.Sprint("n", i), "the name after change %d", i)
		if err := db.QueryRowContext(t.Context(), read, 9).Scan(&name); !errors.Is(err, sql.ErrNoRows) {
			t.Errorf("a row that is not there: got %v, want %v", err, sql.ErrNoRows)
		}
		if _, err := db.ExecContext(t.Context(), write, "a", 2); err == nil || !strings.Contains(err.Error(), "UNIQUE") {
			t.Errorf("a name twice: got %v, want that it is not unique", err)
		}
		must.Do(t, db.QueryRowContext(t.Context(), "PRAGMA user_version").Scan(new(int)))
	}
	c := conn()
	must.Equal(t, len(c.ready), 2, "statements that are ready") // with the INSERT of the rows
	if c.ready[read] == nil {
		t.Errorf("%s is not ready", read)
	}
}

// TestStatementsInUseTwice checks that a statement can run while rows of its earlier run are read.
func TestStatementsInUseTwice(t *testing.T) {
	t.Parallel()
	db, conn := onePrepared(t)
	tx := must.Get(db.BeginTx(t.Context(), nil))(t)
	// names returns the names of all rows; in the middle it calls within, if that is set.
	names := func(within func() string) (all string) {
		rows := must.Get(tx.QueryContext(t.Context(), "SELECT name FROM t ORDER BY id"))(t)
		defer rows.Close()
		for rows.Next() {
			var name string
			must.Do(t, rows.Scan(&name))
			all += name
			if name == "b" && within != nil {
				all += within()
			}
		}
		must.Do(t, rows.Err())
		return all
	}
	for range 3 {
		must.Equal(t, names(func() string { return names(nil) }), "ababcc", "rows within rows")
	}
	must.Do(t, tx.Rollback())
	must.Equal(t, len(conn().ready), 2, "statements that are ready")
}

// TestStatementsFollowSchema checks that a prepared statement sees a changed table.
func TestStatementsFollowSchema(t *testing.T) {
	t.Parallel()
	db, _ := onePrepared(t)
	count := func() (columns int) {
		rows := must.Get(db.QueryContext(t.Context(), "SELECT * FROM t"))(t)
		defer rows.Close()
		for rows.Next() {
			columns = len(must.Get(rows.Columns())(t))
		}
		must.Do(t, rows.Err())
		return columns
	}
	must.Equal(t, count(), 2, "columns")
	must.Get(db.ExecContext(t.Context(), "ALTER TABLE t ADD COLUMN more INTEGER NOT NULL DEFAULT 0"))(t)
	count() // which reads the tables anew
	must.Equal(t, count(), 3, "columns once there is one more")
}

// TestStatementsAreBounded checks that the number of prepared statements and their memory are bounded.
func TestStatementsAreBounded(t *testing.T) {
	t.Parallel()
	db, conn := onePrepared(t)
	for i := range 4 * mostPrepared {
		must.Do(t, db.QueryRowContext(t.Context(), fmt.Sprintf("SELECT count(*) FROM t WHERE id > %d", i)).Scan(new(int)))
		must.Do(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM t").Scan(new(int)))
	}
	must.Do(t, db.QueryRowContext(t.Context(), "SELECT '"+strings.Repeat("x", longestPrepared)+"'").Scan(new(string)))
	c := conn()
	must.Equal(t, len(c.ready), mostPrepared, "statements that are ready")
	for _, text := range []string{"SELECT count(*) FROM t", fmt.Sprintf("SELECT count(*) FROM t WHERE id > %d", 4*mostPrepared-1)} {
		if c.ready[text] == nil {
			t.Errorf("%s is not ready", text)
		}
	}
	status := c.sqliteDriverConn.(interface {
		Status(op sqlite.DBStatusOp, reset bool) (current, high int, err error)
	})
	used, _, err := status.Status(sqlite.DBStatusStmtUsed, false)
	if must.Do(t, err); used == 0 || used > 1<<20 {
		t.Errorf("%d statements that are ready take %d bytes, want at most 1 MiB", len(c.ready), used)
	}
	t.Logf("%d statements take %d bytes", len(c.ready), used)
}
