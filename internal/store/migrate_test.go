package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/pressly/goose/v3"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/must"
	"weir/internal/report"
	"weir/internal/store"
	"weir/internal/stored"
)

// TestBackfillBuildsReports brings a database with attempts from before there were reports of
// them up to date: the reports are those of a database that always had them.
func TestBackfillBuildsReports(t *testing.T) {
	t.Parallel()
	on(t, withoutSchema(), testBackfillBuildsReports)
}

func testBackfillBuildsReports(t *testing.T, o store.Options) {
	const before = 5 // the last migration without them
	at := time.Date(2026, 11, 21, 23, 0, 0, 0, time.UTC)
	var list []ledger.Entry
	for i, first := range []time.Duration{0, 1, 24999, 25000, 49999, 50000, 400000, 51199999, 51200000, 3600e6} {
		e := settled(at.Add(time.Duration(i)*time.Hour/5), i)
		e.FirstToken = first * time.Microsecond
		list = append(list, e)
	}
	failed := settled(at, 100)
	failed.Outcome, failed.FirstToken = ledger.OutcomeCut, time.Second
	always := open(t, o)
	must.Do(t, always.Accounts.CreateAccount(t.Context(), audit.Gateway(), account.Account{ID: "a", Name: "a"}))
	must.Do(t, always.Accounts.CreateKey(t.Context(), audit.Gateway(), account.Key{ID: "k", AccountID: "a"}, account.Hash{}))
	must.Do(t, always.Ledger.Apply(t.Context(), batchOf(uuid.New(), 0, append(list, failed)...)))
	old := withoutSchema()[nameOf(o)](t)
	migrateTo(t, old, before)
	must.Do(t, always.Ledger.UnpackRows(t.Context(), everyRow))
	for _, table := range []string{"accounts", "keys", "attempts"} {
		copyTable(t, o, old, table)
	}
	since := open(t, old)
	got, want := reportsOf(t, since), reportsOf(t, always)
	must.Equal(t, got, want, "reports (-brought up to date +always):")
	if answers := want.Speed[0].Answers() + want.Speed[1].Answers(); answers != 9 {
		t.Errorf("got %d times to first token, want 9", answers)
	}
}

func everyRow(ledger.AttemptID) bool { return true }

// backfilled lists the reports that a migration fills in.
type backfilled struct {
	Speed    []report.Speed // by day
	Used     map[string]time.Time
	Requests []report.Request
}

func reportsOf(t *testing.T, s *store.DB) (b backfilled) {
	t.Helper()
	v, err := s.Reports.Overview(t.Context(), report.OverviewQuery{Account: "a", From: "2026-11-21", To: "2026-11-22"})
	must.Do(t, err)
	for i := range v.Days {
		b.Speed = append(b.Speed, v.Days[i].Speed)
	}
	if b.Used, err = s.Reports.KeysUsed(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if b.Requests, _, err = s.Reports.Requests(t.Context(), report.RequestsQuery{Account: "a", Limit: 100}); err != nil {
		t.Fatal(err)
	}
	return b
}

// migrateTo creates a database as an older program left it.
func migrateTo(t *testing.T, o store.Options, version int64) {
	t.Helper()
	dir, dialect := "migrations/sqlite", goose.DialectSQLite3
	if !o.URL.IsZero() {
		dir, dialect = "migrations/postgres", goose.DialectPostgres
	} else if err := os.MkdirAll(filepath.Dir(o.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	db := behind(t, o)
	defer db.Close()
	p := must.Get(goose.NewProvider(dialect, db, os.DirFS(dir)))(t)
	must.Get(p.UpTo(t.Context(), version))(t)
}

// copyTable copies the rows of a table that both databases have, in the columns of the
// one that they go to.
func copyTable(t *testing.T, from, to store.Options, table string) {
	t.Helper()
	source := behind(t, from)
	defer source.Close()
	columns := columnsOf(t, to, table)
	rows, err := source.QueryContext(t.Context(), "SELECT "+strings.Join(columns, ", ")+" FROM "+table)
	must.Do(t, err)
	defer rows.Close()
	for rows.Next() {
		values, dest := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			dest[i] = &values[i]
		}
		must.Do(t, rows.Scan(dest...))
		literals := make([]string, len(values))
		for i, v := range values {
			if literals[i] = "NULL"; v.Valid {
				literals[i] = "'" + strings.ReplaceAll(v.String, "'", "''") + "'"
			}
		}
		tamper(t, to, fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, strings.Join(columns, ", "), strings.Join(literals, ", ")))
	}
	must.Do(t, rows.Err())
}

func columnsOf(t *testing.T, o store.Options, table string) []string {
	t.Helper()
	db := behind(t, o)
	defer db.Close()
	rows := must.Get(db.QueryContext(t.Context(), "SELECT * FROM "+table+" WHERE 1 = 0"))(t)
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil || rows.Err() != nil {
		t.Fatal(err, rows.Err())
	}
	return columns
}

// TestMigrationPreservesCorrections migrates a database in which attempts were resolved when they could have no other
// correction: they stay resolved, and can have others.
func TestMigrationPreservesCorrections(t *testing.T) {
	t.Parallel()
	on(t, withoutSchema(), func(t *testing.T, o store.Options) {
		const before = 9 // the last migration without others
		migrateTo(t, o, before)
		e := settled(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), 1)
		tamper(t, o, fmt.Sprintf("INSERT INTO corrections (day, request, n, kind, hour, account, key, provider, model, usage, cost, unknown, uncertain, who, at)"+
			" VALUES (20261121, '%s', 1, 'resolved', 2026112112, 'a', 'k', 'p', 'p/m', '{}', 5, 0, -7, 'ann', 0)", e.ID.Request))
		s := open(t, o)
		e.Provenance, e.AtMost = ledger.Estimated, e.Cost+7
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(uuid.New(), 0, e)))
		if err := s.Corrections.Resolve(t.Context(), audit.Gateway(), e.ID, 1, false); !errors.Is(err, ledger.ErrResolved) {
			t.Errorf("resolve again: got %v, want %v", err, ledger.ErrResolved)
		}
		must.Do(t, s.Corrections.Correct(t.Context(), audit.Gateway(), ledger.Correct{ID: e.ID, Amount: -e.Cost - 5, Reason: "credit note"}))
		d, _, err := s.Reports.Request(t.Context(), "a", e.ID.Request)
		if err != nil || d.Cost != 0 || d.AtMost != 0 || len(d.Parts[0].Corrections) != 2 {
			t.Errorf("with both: got %+v, %v; want a cost of 0", d, err)
		}
	})
}

// TestMigrationWithoutExplanations migrates a database whose retention stored no explanations: its sums remain, with an
// unknown price.
func TestMigrationWithoutExplanations(t *testing.T) {
	t.Parallel()
	on(t, withoutSchema(), func(t *testing.T, o store.Options) {
		const before = 9 // the last migration without them
		at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		always := open(t, o)
		must.Do(t, always.Ledger.Apply(t.Context(), batchOf(uuid.New(), 0, settled(at, 1), settled(at, 2))))
		must.Get(always.Ledger.Retain(t.Context(), at.AddDate(0, 0, 1), at.AddDate(0, 0, 1), nil))(t)
		old := withoutSchema()[nameOf(o)](t)
		migrateTo(t, old, before)
		for _, table := range []string{"checkpoints", "rollup_day", "rollup_uses", "rollup_hour", "balances"} {
			copyTable(t, o, old, table)
		}
		since := open(t, old)
		if v, err := since.Ledger.Verify(t.Context(), nil); err != nil || len(v.Differences) > 0 {
			t.Errorf("verify: got %+v, %v; want no difference", v.Differences, err)
		}
		for _, test := range []struct {
			s     *store.DB
			price string
		}{{always, "v1"}, {since, report.PriceForgotten}} {
			var got []report.Explanation
			err := test.s.Reports.Explain(t.Context(), report.ExportQuery{}, func(x *report.Explanation) error {
				got = append(got, *x)
				return nil
			})
			if err != nil || len(got) != 1 || got[0].Price != test.price || got[0].Cost != 6 || got[0].Attempts != 2 {
				t.Errorf("explained: got %+v, %v; want two attempts for 6 nano-dollars by %q", got, err, test.price)
			}
		}
	})
}

// TestMigrationAddsInviters migrates a database whose invitations do not name the key that created them: the audit log
// does.
func TestMigrationAddsInviters(t *testing.T) {
	t.Parallel()
	on(t, withoutSchema(), func(t *testing.T, o store.Options) {
		const before = 6 // the last migration without it
		migrateTo(t, o, before)
		at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		tamper(t, o, "INSERT INTO accounts (id, name, suspended, on_hangup, budget, budget_period, created) VALUES ('a', 'a', 0, 'cancel', 0, '', 0)")
		for _, id := range []string{"k1", "k2"} {
			tamper(t, o, fmt.Sprintf("INSERT INTO keys (id, account, label, last4, permissions, models, created, rpm, tpm, concurrency, budget, budget_period, hash)"+
				" VALUES ('%s', 'a', 'same', 'last', '[\"admin\"]', '[]', 0, 0, 0, 0, 0, '', '%s')", id, id))
			tamper(t, o, fmt.Sprintf("INSERT INTO invitations (id, hash, email, account, role, operator, inviter, trusted, created, expires)"+
				" VALUES ('i%s', 'h%s', '%s@x.example', '', '', 1, 'same', 1, 0, %d)", id, id, id, at.Add(time.Hour).UnixMicro()))
			tamper(t, o, fmt.Sprintf("INSERT INTO audit (seq, at, actor_kind, actor_id, actor_name, address, request, action, object_kind, object_id, object_name, account, hash)"+
				" VALUES (%s, 0, 'key', '%s', 'same', '', '', 'operator.invited', 'invitation', 'i%s', '', '', '%064d')", id[1:], id, id, 0))
		}
		s := open(t, o)
		must.Get(s.Accounts.RevokeKey(t.Context(), audit.Gateway(), "k1", at))(t)
		list, err := s.Invitations.Invitations(t.Context(), "", at)
		if err != nil || len(list) != 1 || list[0].ID != "ik2" {
			t.Errorf("after a key was revoked: got %+v, %v; want the other's invitation alone", list, err)
		}
	})
}

// TestMigrationAddsMakers migrates a database whose endpoints do not name the person who created them or changed their
// address: the audit log does.
func TestMigrationAddsMakers(t *testing.T) {
	t.Parallel()
	on(t, withoutSchema(), func(t *testing.T, o store.Options) {
		const before = 12 // the last migration without it
		migrateTo(t, o, before)
		for _, u := range []string{"boss", "former"} {
			tamper(t, o, fmt.Sprintf("INSERT INTO users (id, email, name, operator, password, proven, created) VALUES ('%s', '%s@x.example', '', 1, '', 1, 0)", u, u))
		}
		seq := 0
		note := func(who, action, id, became string) {
			seq++
			tamper(t, o, fmt.Sprintf("INSERT INTO audit (seq, at, actor_kind, actor_id, actor_name, address, request, action, object_kind, object_id, object_name, account, became, hash)"+
				" VALUES (%d, 0, 'user', '%s', '', '', '', '%s', 'webhook', '%s', '', '', '%s', '%064d')", seq, who, action, id, became, 0))
		}
		for _, id := range []string{"his", "moved", "hers"} {
			tamper(t, o, fmt.Sprintf("INSERT INTO webhooks (id, account, url, types, allow_private, secret, former, former_until, rests, why, created)"+
				" VALUES ('%s', '', 'https://example.com/', '[]', 0, '', '', 0, 0, '', 0)", id))
		}
		note("former", "webhook.created", "his", `{"url":"https://example.com/"}`)
		note("boss", "webhook.changed", "his", `{"events":["key.created"]}`)
		note("boss", "webhook.created", "moved", `{"url":"https://example.com/0"}`)
		note("former", "webhook.changed", "moved", `{"url":"https://example.com/"}`)
		note("boss", "webhook.created", "hers", `{"url":"https://example.com/"}`)
		s := open(t, o)
		must.Do(t, s.Users.SetOperator(t.Context(), audit.Gateway(), "former", false))
		for id, want := range map[string]bool{"his": true, "moved": true, "hers": false} {
			if e, err := s.Webhooks.Webhook(t.Context(), id); err != nil || (e.Disabled != nil) != want {
				t.Errorf("%s: got disabled %v, %v; want %v", id, e.Disabled, err, want)
			}
		}
	})
}

// TestMigrationCountsStoredResponses migrates a database that did not count its stored responses.
func TestMigrationCountsStoredResponses(t *testing.T) {
	t.Parallel()
	on(t, withoutSchema(), func(t *testing.T, o store.Options) {
		const before = 14 // the last migration without it
		migrateTo(t, o, before)
		tamper(t, o, "INSERT INTO accounts (id, name, suspended, on_hangup, budget, budget_period, created) VALUES ('a', 'a', 0, 'cancel', 0, '', 0)")
		tamper(t, o, "INSERT INTO keys (id, account, label, last4, permissions, models, created, rpm, tpm, concurrency, budget, budget_period, hash)"+
			" VALUES ('k', 'a', 'l', 'last', '[]', '[]', 0, 0, 0, 0, 0, '', 'h')")
		for i, record := range []string{"'k', '1', 'done', '12345'", "'k', '2', 'running', NULL", "'admin/key/k', '3', 'done', '1'"} {
			tamper(t, o, fmt.Sprintf("INSERT INTO idempotency (scope, key, state, reply, body, node, epoch, expires) VALUES (%s, '', '', '', %d)", record, i))
		}
		tamper(t, o, "INSERT INTO responses (id, scope, previous, created, expires, sealed) VALUES ('r', 'k', '', 0, 0, '1234567')")
		tamper(t, o, "INSERT INTO response_items (item, response) VALUES ('i', 'r')")
		s := open(t, o)
		want := []stored.Usage{{Replies: 1, ReplyBytes: 1}, {Account: "a", Replies: 1, ReplyBytes: 5, Responses: 1, ResponseBytes: 7 + 256}}
		if got, err := s.Kept.Usage(t.Context()); err != nil || !slices.Equal(got, want) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		must.Get(s.Kept.IdempotencySweep(t.Context()))(t)
		must.Get(s.Kept.SweepResponses(t.Context()))(t)
		if got, err := s.Kept.Usage(t.Context()); err != nil || len(got) != 0 {
			t.Errorf("after sweeps: got %+v, %v; want none", got, err)
		}
	})
}
