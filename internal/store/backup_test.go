package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/must"
	"weir/internal/store"
)

// backup empties a database, copies it, and puts the copy back.
type backup struct {
	clear, save, restore func(*rapid.T)
	live                 bool // while the database is open
}

func newBackup(t *testing.T, o store.Options) backup {
	if o.URL.IsZero() {
		return fileBackup(t, o.Path)
	}
	return tableBackup(t, o)
}

func fileBackup(t *testing.T, path string) backup {
	empty, saved := path+".empty", filepath.Join(t.TempDir(), "saved")
	cp := func(from, to string) func(*rapid.T) {
		return func(rt *rapid.T) {
			b, err := os.ReadFile(from)
			if err == nil {
				err = os.WriteFile(to, b, 0o600)
			}
			if err != nil {
				rt.Fatal(err)
			}
		}
	}
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(empty, b, 0o600)
	}
	must.Do(t, err)
	return backup{clear: cp(empty, path), save: cp(path, saved), restore: cp(saved, path)}
}

// tableBackup copies tables to a schema of their own, because PostgreSQL needs far longer to copy a whole database.
func tableBackup(t *testing.T, o store.Options) backup {
	const each = `DO $$ DECLARE t text; BEGIN
		SET LOCAL session_replication_role = replica; -- no foreign keys meanwhile
		FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'goose_db_version' LOOP
			EXECUTE format('STATEMENT', t);
		END LOOP; END $$`
	db := behind(t, o)
	t.Cleanup(func() { db.Close() })
	run := func(statements ...string) func(*rapid.T) {
		return func(rt *rapid.T) {
			for _, s := range statements {
				if _, err := db.ExecContext(rt.Context(), strings.Replace(each, "STATEMENT", s, 1)); err != nil {
					rt.Fatalf("%s: %v", s, err)
				}
			}
		}
	}
	for _, s := range []string{"CREATE SCHEMA saved", strings.Replace(each, "STATEMENT", "CREATE TABLE saved.%1$I AS TABLE %1$I", 1)} {
		must.Get(db.ExecContext(t.Context(), s))(t)
	}
	const clear = "DELETE FROM %1$I"
	return backup{
		clear:   run(clear),
		save:    run("DELETE FROM saved.%1$I", "INSERT INTO saved.%1$I SELECT * FROM %1$I"),
		restore: run(clear, "INSERT INTO %1$I SELECT * FROM saved.%1$I"),
		live:    true,
	}
}
