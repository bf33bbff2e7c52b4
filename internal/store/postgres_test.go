package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/store"
)

// TestSchemasOfEnginesAgree compares the tables of the engines, with their columns in order.
func TestSchemasOfEnginesAgree(t *testing.T) {
	t.Parallel()
	types := map[string]string{"bigint": "INTEGER", "integer": "INTEGER", "smallint": "INTEGER", "text": "TEXT", "bytea": "BLOB"}
	got := schema(t, withoutSchema()["PostgreSQL"](t), `SELECT c.table_name, c.column_name, c.data_type, c.is_nullable = 'NO',
			coalesce((SELECT k.ordinal_position FROM information_schema.key_column_usage k
				JOIN information_schema.table_constraints p USING (constraint_name, table_name)
				WHERE p.constraint_type = 'PRIMARY KEY' AND k.table_name = c.table_name AND k.column_name = c.column_name), 0),
			coalesce(c.collation_name, '')
		FROM information_schema.columns c WHERE c.table_schema = 'public' ORDER BY c.table_name, c.ordinal_position`)
	want := schema(t, withoutSchema()["SQLite"](t), `SELECT m.name, c.name, c.type, c."notnull", c.pk, CASE c.type WHEN 'TEXT' THEN 'C' ELSE '' END
		FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name <> 'sqlite_sequence' ORDER BY m.name, c.cid`)
	for i := range got {
		got[i].Type = types[got[i].Type]
	}
	if diff := cmp.Diff(got, want); diff != "" || len(got) < 100 {
		t.Errorf("%d columns on PostgreSQL (-PostgreSQL +SQLite):\n%s", len(got), diff)
	}
}

type column struct {
	Table, Name, Type string
	NotNull           bool
	Key               int
	Collation         string
}

func schema(t *testing.T, o store.Options, query string) (list []column) {
	t.Helper()
	open(t, o)
	db := behind(t, o)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), query)
	must.Do(t, err)
	defer rows.Close()
	for rows.Next() {
		var c column
		must.Do(t, rows.Scan(&c.Table, &c.Name, &c.Type, &c.NotNull, &c.Key, &c.Collation))
		if c.Table != "goose_db_version" {
			list = append(list, c)
		}
	}
	must.Do(t, rows.Err())
	return list
}

// TestUsesIndex checks that the sums of an account's days are in an index, so that the accounts and columns between
// them cost nothing.
func TestUsesIndex(t *testing.T) {
	t.Parallel()
	o := engines()["PostgreSQL"](t)
	open(t, o)
	db := behind(t, o)
	defer db.Close()
	var index string
	must.Do(t, db.QueryRowContext(t.Context(), "SELECT indexdef FROM pg_indexes WHERE indexname = 'rollup_uses_account'").Scan(&index))
	if want := "(account, period, model) INCLUDE (tokens, requests, cost, uncertain, margin, margin_uncertain, unpriced, margin_unpriced)"; !strings.HasSuffix(index, want) {
		t.Errorf("got %s, want %s", index, want)
	}
}

// TestFeedIsWhole has many processes write while another one follows the feed: it sees every change, although those
// that began first may end last.
func TestFeedIsWhole(t *testing.T) {
	t.Parallel()
	everywhere(t, testFeedIsWhole)
}

func testFeedIsWhole(t *testing.T, o store.Options) {
	const writers, each = 4, 20
	follower := open(t, o)
	var all sync.WaitGroup
	for w := range writers {
		s := open(t, o)
		all.Go(func() {
			for i := range each {
				id := fmt.Sprintf("acc_%d_%d", w, i)
				if err := s.Accounts.CreateAccount(t.Context(), audit.Gateway(), account.Account{ID: id, Name: id}); err != nil {
					t.Errorf("create %s: %v", id, err)
				}
			}
		})
	}
	seen, last := map[string]bool{}, int64(0)
	for until := time.Now().Add(30 * time.Second); len(seen) < writers*each && time.Now().Before(until); {
		c, err := follower.Accounts.Changes(t.Context(), last)
		if err != nil || c.Lost {
			t.Errorf("changes after %d: got lost %v, %v", last, c.Lost, err)
			break
		}
		for _, change := range c.List {
			if change.Seq <= last || seen[change.ID] {
				t.Errorf("got %+v after %d", change, last)
			}
			last, seen[change.ID] = change.Seq, true
		}
	}
	all.Wait()
	if len(seen) != writers*each {
		t.Errorf("the follower saw %d changes, want %d", len(seen), writers*each)
	}
}

// TestManyAppliers has nodes apply batches for the same keys at once, each in its own order, during corrections: they
// do not deadlock.
func TestManyAppliers(t *testing.T) {
	t.Parallel()
	const nodes, batches, size = 3, 25, 60
	o := engines()["PostgreSQL"](t)
	var all sync.WaitGroup
	for node := range nodes {
		s := open(t, o)
		all.Go(func() {
			journal := uuid.New()
			for i := range batches {
				list := manyKeys(node, i, size)
				if err := s.Ledger.Apply(t.Context(), batchOf(journal, ledger.Position(i), list...)); err != nil {
					t.Errorf("node %d, batch %d: %v", node, i, err)
					return
				}
				if err := s.Corrections.Resolve(t.Context(), audit.Gateway(), list[0].ID, 1, false); err != nil {
					t.Errorf("resolve: %v", err)
				}
			}
		})
	}
	all.Wait()
	v, err := open(t, o).Ledger.Verify(t.Context(), nil)
	if err != nil || len(v.Differences) > 0 || v.Rows != nodes*batches*size {
		t.Errorf("verify: got %d rows, %+v, %v; want %d and no difference", v.Rows, v.Differences, err, nodes*batches*size)
	}
	db := behind(t, o)
	defer db.Close()
	var deadlocks int64
	const query = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
	if err := db.QueryRowContext(t.Context(), query).Scan(&deadlocks); err != nil || deadlocks > 0 {
		t.Errorf("got %d deadlocks, %v; want none", deadlocks, err)
	}
}

// manyKeys returns settled attempts of many keys; the first is unknown. Some use classes that others do not.
func manyKeys(node, batch, size int) []ledger.Entry {
	var list []ledger.Entry
	for i := range size {
		e := settled(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), (node*1000+batch)*1000+i)
		e.Key = fmt.Sprint("k", (i*7+node*13)%40)
		if (i+node)%3 == 0 {
			e.Outcome = ledger.OutcomeCut
			e.Provenance = ledger.Estimated
			e.Usage[llm.Reasoning], e.Price = 5, llm.Price{}
			e.Cost = 0
		}
		list = append(list, e)
	}
	e := &list[0]
	e.Outcome, e.Provenance, e.Hold = ledger.OutcomeUnknown, ledger.Unknown, e.Cost
	return list
}

// TestZombieConnectionAppliesOnce has an abandoned connection apply the batch that is being applied again: one of the
// two does.
func TestZombieConnectionAppliesOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		first bool // the journal is not in the database before
		end   func(*sql.Tx) error
		want  error
	}{
		{"commits", false, (*sql.Tx).Commit, ledger.ErrMoved},
		{"commits the first batch", true, (*sql.Tx).Commit, ledger.ErrMoved},
		{"rolls back", false, (*sql.Tx).Rollback, nil},
		{"rolls back the first batch", true, (*sql.Tx).Rollback, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o, journal := engines()["PostgreSQL"](t), uuid.New()
			s := open(t, o)
			from, statement := ledger.Position(0), "INSERT INTO journals (journal, position) VALUES ($1, 1)"
			if !test.first {
				from, statement = 1, "UPDATE journals SET position = 2 WHERE journal = $1 AND position = 1"
				must.Do(t, s.Ledger.Apply(t.Context(), batchOf(journal, 0, settled(time.Now(), 1))))
			}
			zombie := behind(t, o)
			defer zombie.Close()
			tx := must.Get(zombie.BeginTx(t.Context(), nil))(t)
			must.Get(tx.ExecContext(t.Context(), statement, journal.String()))(t)
			applied := make(chan error, 1)
			go func() { applied <- s.Ledger.Apply(t.Context(), batchOf(journal, from, settled(time.Now(), 2))) }()
			awaitWaiting(t, zombie)
			must.Do(t, test.end(tx))
			if err := <-applied; !errors.Is(err, test.want) {
				t.Errorf("apply: got %v, want %v", err, test.want)
			}
			if pos, err := s.Ledger.Position(t.Context(), journal); pos != from+1 || err != nil {
				t.Errorf("position: got %d, %v; want %d", pos, err, from+1)
			}
		})
	}
}

// awaitWaiting waits until a transaction waits for another one.
func awaitWaiting(t *testing.T, db *sql.DB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		var n int
		err := db.QueryRowContext(ctx, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n)
		if err != nil {
			t.Fatalf("no process waits: %v", err)
		}
		if n > 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestSecretsStayOutOfErrors checks that no error or log has a password of a URL.
func TestSecretsStayOutOfErrors(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://me:canary@127.0.0.1:1/weir",
		"postgres://me:canary@127.0.0.1:1/weir?sslmode=canary",
		"postgres://me:canary@127.0.0.1:nonsense/weir",
		"postgres://me:can%61ry@127.0.0.1:1/weir?connect_timeout=canary",
		"postgres://me:canary/x@127.0.0.1:1/weir",
		"postgres://me:%zzcanary@127.0.0.1:1/weir",
		"postgres://127.0.0.1:1/weir?sslmode=verify-full&sslcert=/none&sslkey=/none&sslpassword=canary",
		"postgres://me@127.0.0.1:1/weir?password=canary",
		"postgres://canary",
	} {
		o := store.Options{URL: llm.NewSecret(url)}
		_, err := store.Open(t.Context(), o)
		if err == nil {
			t.Errorf("open %s: got no error, want one", url)
			continue
		}
		if url != "postgres://canary" && strings.Contains(err.Error(), "canary") || strings.Contains(fmt.Sprintf("%+v %#v", o, o), "canary") {
			t.Errorf("open %s: the error contains the password: %v", url, err)
		}
	}
}
