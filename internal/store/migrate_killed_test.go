package store_test

import (
	"cmp"
	"database/sql"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/processtest"
	"weir/internal/store"
)

var migrateRows = flag.Int("migrate.rows", 20_000, "how many attempts the database has whose migration is killed")

// migrateKills is the number of kills of a migration, at times spread over its duration.
const migrateKills = 6

// TestMigrationKilled kills a migrating process again and again. Each start continues the migration, and in the end the
// database is the same as without kills.
func TestMigrationKilled(t *testing.T) {
	t.Parallel()
	on(t, withoutSchema(), testMigrationKilled)
}

func testMigrationKilled(t *testing.T, killed store.Options) {
	whole := withoutSchema()[nameOf(killed)](t)
	for _, o := range []store.Options{killed, whole} {
		migrateTo(t, o, 5) // the later migrations read every attempt
		tamper(t, o, fillAttempts(o, *migrateRows))
	}
	migrate := func(o store.Options, after time.Duration) (took time.Duration, ok bool) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "WEIR_TEST_MIGRATE="+cmp.Or(o.Path, "PostgreSQL"), "WEIR_TEST_URL="+o.URL.Reveal())
		p := processtest.Start(t, cmd, filepath.Join(t.TempDir(), "log"), "never")
		if !p.EndsWithin(after) {
			p.Kill()
		}
		if p.Cmd.ProcessState.Exited() && !p.Cmd.ProcessState.Success() {
			t.Fatalf("migrate: %s", p.LastLines())
		}
		return p.Ended.Sub(p.Started), p.Cmd.ProcessState.Success()
	}
	took, ok := migrate(whole, time.Minute)
	if !ok {
		t.Fatal("the migration does not end within a minute")
	}
	kills := 0
	for i := range migrateKills {
		if _, ok := migrate(killed, took*time.Duration(i+1)/migrateKills); !ok {
			kills++
		}
	}
	if _, ok := migrate(killed, time.Minute); !ok {
		t.Fatal("the migration does not end within a minute after it was killed")
	}
	t.Logf("%d attempts: %s at once; killed %d times", *migrateRows, took.Round(time.Millisecond), kills)
	if kills == 0 {
		t.Error("nothing was killed")
	}
	must.Equal(t, contents(t, killed), contents(t, whole), "tables, rows and their sums (-killed +not killed):")
}

// fillAttempts returns SQL that creates n settled attempts, in the columns of schema 5.
func fillAttempts(o store.Options, n int) string {
	series := "generate_series(1, " + fmt.Sprint(n) + ") AS s(i)"
	if o.URL.IsZero() {
		series = "(WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < " + fmt.Sprint(n) + ") SELECT i FROM s)"
	}
	return `INSERT INTO attempts (day, request, n, journal, account, key, model, opened, opening, outcome, provenance, cost, settlement)
SELECT 20000 + i / 10000, 'request ' || i, 1, 1, 'account ' || i % 50, 'key ' || i % 200, 'house/chat', 1760000000000000 + i,
'{}', 'ok', 'exact', i, '{"first_token":' || i % 60000000 || '}' FROM ` + series
}

// contents returns, for each table of the database, the number of its rows and a sum over them.
func contents(t *testing.T, o store.Options) map[string]string {
	t.Helper()
	db := behind(t, o)
	defer db.Close()
	list := "SELECT name FROM sqlite_master WHERE type = 'table'"
	if !o.URL.IsZero() {
		list = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
	}
	tables := map[string]string{}
	rows := must.Get(db.QueryContext(t.Context(), list))(t)
	defer rows.Close()
	for rows.Next() {
		var name string
		must.Do(t, rows.Scan(&name))
		tables[name] = ""
	}
	must.Do(t, rows.Err())
	delete(tables, "goose_db_version") // when it was migrated
	for name := range maps.Clone(tables) {
		tables[name] = sumOf(t, db, name)
	}
	return tables
}

func sumOf(t *testing.T, db *sql.DB, table string) string {
	t.Helper()
	rows := must.Get(db.QueryContext(t.Context(), "SELECT * FROM "+table))(t)
	defer rows.Close()
	columns := must.Get(rows.Columns())(t)
	values, dest := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		dest[i] = &values[i]
	}
	n, sum := 0, uint64(0)
	for rows.Next() {
		must.Do(t, rows.Scan(dest...))
		h := fnv.New64a()
		fmt.Fprint(h, values)
		n, sum = n+1, sum+h.Sum64() // in any order
	}
	must.Do(t, rows.Err())
	return fmt.Sprintf("%s: %d rows, %x", strings.Join(columns, ","), n, sum)
}
