package store_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/store"
)

func open(t *testing.T, o store.Options) *store.DB {
	t.Helper()
	s, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// tamper runs SQL without the store.
func tamper(t *testing.T, o store.Options, statement string) {
	t.Helper()
	db := behind(t, o)
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// behind opens the database without the store, by the store's drivers.
func behind(t testing.TB, o store.Options) *sql.DB {
	t.Helper()
	driver, name := "sqlite", o.Path
	if !o.URL.IsZero() {
		driver, name = "pgx", o.URL.Reveal()
	}
	db := must.Get(sql.Open(driver, name))(t)
	return db
}

func settled(at time.Time, n int) ledger.Entry {
	return ledger.Entry{
		Attempt: ledger.Attempt{
			ID:      ledger.AttemptID{Request: uuid.NewSHA1(uuid.Nil, fmt.Append(nil, n)), N: 1},
			Account: "a", Key: "k", Requested: "p/m", Provider: "p", Model: "m", Opened: at, Arrived: at,
			Price: llm.Price{Version: "v1"},
		},
		Settlement: ledger.Settlement{
			Outcome: ledger.OutcomeOK, Provenance: ledger.Exact, Counts: true,
			Usage: llm.Usage{llm.Input: 10, llm.Output: 2}, Cost: 3,
		},
	}
}

func batchOf(journal uuid.UUID, from ledger.Position, list ...ledger.Entry) *ledger.Batch {
	return &ledger.Batch{
		Journal: journal, From: from, To: from + 1, Settled: list,
		Prices: []ledger.PriceRecord{{Version: "v1", Rates: llm.Rates{llm.Input: 200, llm.Output: 500}}},
	}
}

func TestMigrationsBuildSchema(t *testing.T) {
	t.Parallel()
	on(t, withoutSchema(), testMigrationsBuildSchema)
}

func testMigrationsBuildSchema(t *testing.T, o store.Options) {
	absent := store.Options{Path: filepath.Join(t.TempDir(), "weir.db")}
	if !o.URL.IsZero() {
		absent = store.Options{URL: llm.NewSecret(strings.Replace(o.URL.Reveal(), "weir_test_", "absent_", 1))}
	}
	if _, err := store.CheckMigrations(t.Context(), absent); err == nil {
		t.Error("check without a database: got no error, want one")
	}
	must.Do(t, os.MkdirAll(filepath.Dir(o.Path), 0o700))
	tamper(t, o, "SELECT 1") // it creates SQLite's file
	status, err := store.CheckMigrations(t.Context(), o)
	if err != nil || !status.Pending() || status.Current != 0 {
		t.Errorf("check an empty database: got %+v, %v; want all pending", status, err)
	}
	s := open(t, o)
	if status, err = s.MigrationStatus(t.Context()); err != nil || status.Pending() || status.Current != status.Target || status.Target == 0 {
		t.Errorf("status once open: got %+v, %v; want nothing pending", status, err)
	}
	tamper(t, o, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)")
	newer := must.Get(store.Open(t.Context(), o))(t) // which has only added to the schema
	must.Do(t, newer.Close())
	if status, err = store.CheckMigrations(t.Context(), o); err != nil || status.Pending() || status.Current != 9999 {
		t.Errorf("status of a newer schema: got %+v, %v; want nothing pending", status, err)
	}
	tamper(t, o, "UPDATE schema_compatibility SET least = 9999")
	if _, err := store.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "newer weir") {
		t.Errorf("open a newer database: got %v, want an error about its version", err)
	}
}

// TestOpenAtOnce starts many processes on an empty database.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	on(t, withoutSchema(), testOpenAtOnce)
}

func testOpenAtOnce(t *testing.T, o store.Options) {
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			s, err := store.Open(t.Context(), o)
			if err != nil {
				t.Errorf("open %d: %v", i, err)
				return
			}
			a := account.Account{ID: fmt.Sprint(i), Name: fmt.Sprint(i)}
			if err := s.Accounts.CreateAccount(t.Context(), audit.Gateway(), a); err != nil {
				t.Errorf("create %d: %v", i, err)
			}
			if err := s.Close(); err != nil {
				t.Errorf("close %d: %v", i, err)
			}
		})
	}
	all.Wait()
	if list, err := open(t, o).Accounts.List(t.Context(), ""); len(list) != 12 || err != nil {
		t.Errorf("got %d accounts, %v; want 12", len(list), err)
	}
}

// TestVerifyFinds changes one thing without the store, each time.
func TestVerifyFinds(t *testing.T) {
	t.Parallel()
	everywhere(t, testVerifyFinds)
}

func testVerifyFinds(t *testing.T, o store.Options) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name   string
		change any // a statement, or a change of each row
		want   string
	}{
		{"a day's cost", "UPDATE rollup_day SET cost = cost + 1", "day cost"},
		{"an hour's tokens", "UPDATE rollup_hour SET tokens = 0", "hour tokens"},
		{"an hour of a day with a checkpoint", "UPDATE rollup_hour SET attempts = 9 WHERE period = 2026110112", "hour attempts"},
		{"a class", "UPDATE rollup_day SET use_output = use_output - 1, use_reasoning = 1", "day use_reasoning"},
		{"a rollup that is gone", "DELETE FROM rollup_day", "day requests"},
		{"a rollup of nothing", "INSERT INTO rollup_day (period, account, model, key, provider, requests) VALUES (20260101, 'a', 'p/m', 'k', 'p', 1)", "day requests"},
		{"a rollup of another key", "UPDATE rollup_day SET key = 'l'", "day requests"},
		{"a day's cost without keys", "UPDATE rollup_uses SET cost = cost - 1", "uses cost"},
		{"sums without keys that are gone", "DELETE FROM rollup_uses", "uses requests"},
		{"sums without keys of nothing", "INSERT INTO rollup_uses (period, account, model, tokens) VALUES (20260101, 'a', 'p/m', 1)", "uses tokens"},
		{"a row's cost", func(e *ledger.Entry) { e.Cost++ }, "row cost of attempt"},
		{"a row's usage", func(e *ledger.Entry) { e.Usage[llm.Searches] = 9 }, "hour use_search"},
		{"a row that is gone", "DELETE FROM attempt_rows", "day requests"},
		{"a row whose kind is gone", "DELETE FROM attempt_kinds", "day requests"},
		{"a row that is open again", func(e *ledger.Entry) { e.Outcome = ledger.OutcomeOpen }, "day requests"},
		{"a row of another state", "UPDATE attempt_rows SET state = 5 WHERE state = 1", "row state of attempt"},
		{"a resolved row of another state", "UPDATE attempt_rows SET state = 5 WHERE state = 3", "row state of attempt"},
		{"a row on another day", func(e *ledger.Entry) {
			e.Opened, e.Arrived = e.Opened.AddDate(0, 0, -1), e.Arrived.AddDate(0, 0, -1)
		}, "hour requests"},
		{"a price", `UPDATE prices SET rates = '{"input":300,"output":500}'`, "row cost of attempt"},
		{"a price that is gone", "DELETE FROM prices", "is missing"},
		{"a checkpoint", "UPDATE checkpoints SET requests = 9", "day requests"},
		{"an explanation", "UPDATE explanations SET use_output = 9", "explanation use_output"},
		{"an explanation that is gone", "DELETE FROM explanations", "explanation cost"},
		{"an explanation of nothing", "INSERT INTO explanations (period, account, model, cost) VALUES (20260101, 'a', 'p/m', 1)", "explanation cost"},
		{"an explanation by a price that is gone", "UPDATE explanations SET price = 'v2'", "explanation price v2, which is missing"},
		{"a correction", "DELETE FROM corrections WHERE kind = 'resolved'", "day unknown"},
		{"a credit note", "DELETE FROM corrections WHERE kind = 'amount' AND seq = 2", "balance spent"},
		{"a credit note of another amount", "UPDATE corrections SET cost = cost + 1 WHERE kind = 'amount' AND seq = 1", "uses cost"},
		{"an end user's balance", "UPDATE balances SET spent = spent + 1 WHERE scope = 'k/user=eve' AND day = 20261121", "balance spent"},
		{"a tag's balance that is gone", "DELETE FROM balances WHERE scope = 'a/tag:team=x'", "balance spent"},
		{"a balance of a deleted day's user", "UPDATE balances SET spent = 0 WHERE scope = 'k/user=eve' AND day = 20261101", "balance spent"},
		{"a checkpoint of an end user", "DELETE FROM part_checkpoints", "balance spent"},
		{"a credit note of an end user", "UPDATE corrections SET parts = '[]'", "balance spent"},
		{"a row that counts for its end user no more", func(e *ledger.Entry) { e.Parts = 0 }, "balance spent"},
		{"a credit note of more than the cost", "UPDATE corrections SET cost = -4 WHERE kind = 'amount' AND seq = 2", "row corrected cost of attempt"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := engineOf(o)(t)
			s := open(t, o)
			lost := settled(at, 2)
			lost.Outcome, lost.Provenance, lost.Hold = ledger.OutcomeUnknown, ledger.Unknown, lost.Cost
			old := settled(at.AddDate(0, 0, -20), 3)
			first := settled(at, 1)
			for _, e := range []*ledger.Entry{&first, &old} {
				e.Attribution = llm.Attribution{User: "eve", Tags: []llm.Tag{{Name: "team", Value: "x"}}}
				e.Parts = budget.Parts(0).User(budget.KeyPart).Tag(budget.AccountPart, 0)
			}
			must.Do(t, s.Ledger.Apply(t.Context(), batchOf(uuid.New(), 0, first, lost, old)))
			must.Do(t, s.Corrections.Resolve(t.Context(), audit.Gateway(), lost.ID, 0, true))
			for range 2 {
				must.Do(t, s.Corrections.Correct(t.Context(), audit.Gateway(), ledger.Correct{ID: settled(at, 1).ID, Amount: -1, Reason: "x"}))
			}
			if n, err := s.Ledger.Retain(t.Context(), at, at, nil); n.Rows != 1 || err != nil {
				t.Fatalf("retain: got %+v, %v; want 1", n, err)
			}
			if v, err := s.Ledger.Verify(t.Context(), nil); err != nil || len(v.Differences) > 0 {
				t.Fatalf("before: got %+v, %v; want no difference", v.Differences, err)
			}
			if statement, ok := test.change.(string); ok {
				tamper(t, o, statement)
			} else if change, ok := test.change.(func(*ledger.Entry)); ok {
				must.Do(t, s.Ledger.ChangeRows(t.Context(), change))
			}
			v := must.Get(s.Ledger.Verify(t.Context(), nil))(t)
			var found []string
			for _, d := range v.Differences {
				found = append(found, d.Rollup+" "+d.What)
			}
			if !strings.Contains(strings.Join(found, "\n"), test.want) {
				t.Errorf("got %q, want %q among them", found, test.want)
			}
		})
	}
}

// TestKilledProcessLosesNothing kills a process that applies batches, over and over: all reported batches are in the
// database, and the rollups equal the rows.
func TestKilledProcessLosesNothing(t *testing.T) {
	t.Parallel()
	everywhere(t, testKilledProcessLosesNothing)
}

func testKilledProcessLosesNothing(t *testing.T, o store.Options) {
	journal := uuid.New()
	for round := range 4 {
		told := applyUntilKilled(t, o, journal, 5+3*round)
		s, err := store.Open(t.Context(), o)
		if err != nil {
			t.Fatalf("open after the kill: %v", err)
		}
		pos, err := s.Ledger.Position(t.Context(), journal)
		if err != nil || pos < told {
			t.Errorf("position: got %d, %v; want at least %d", pos, err, told)
		}
		v, err := s.Ledger.Verify(t.Context(), nil)
		if err != nil || len(v.Differences) > 0 || v.Rows != int64(pos)*killedRows {
			t.Errorf("verify: got %d rows, %+v, %v; want %d and no difference", v.Rows, v.Differences, err, int64(pos)*killedRows)
		}
		s.Close()
	}
}

const killedRows = 200 // of a batch

func applyUntilKilled(t *testing.T, o store.Options, journal uuid.UUID, batches int) (told ledger.Position) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "WEIR_TEST_APPLY="+o.Path, "WEIR_TEST_URL="+o.URL.Reveal(), "WEIR_TEST_JOURNAL="+journal.String())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must.Do(t, err)
	must.Do(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for n := 0; n < batches && lines.Scan(); n++ {
		if _, err := fmt.Sscanf(lines.Text(), "applied %d", &told); err != nil {
			t.Fatalf("the child's output: %q", lines.Text())
		}
	}
	must.Do(t, cmd.Process.Kill())
	_ = cmd.Wait() // it reports the kill
	if told == 0 {
		t.Fatal("the child applied nothing")
	}
	return told
}

// applyForever runs in the process that TestKilledProcessLosesNothing kills.
func applyForever(ctx context.Context, o store.Options, journal string) error {
	s, err := store.Open(ctx, o)
	if err != nil {
		return err
	}
	id := uuid.MustParse(journal)
	pos, err := s.Ledger.Position(ctx, id)
	if err != nil {
		return err
	}
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for ; ; pos++ {
		var list []ledger.Entry
		for i := range killedRows {
			list = append(list, settled(at, int(pos)*killedRows+i))
		}
		if err := s.Ledger.Apply(ctx, batchOf(id, pos, list...)); err != nil {
			return err
		}
		fmt.Printf("applied %d\n", pos+1)
	}
}

// TestTwoNodes revokes, suspends and creates in one process, and asks another.
func TestTwoNodes(t *testing.T) {
	t.Parallel()
	everywhere(t, testTwoNodes)
}

func testTwoNodes(t *testing.T, o store.Options) {
	quiet := slog.New(slog.DiscardHandler)
	cli, node := account.NewService(open(t, o).Accounts.Stores(), time.Now, quiet), account.NewService(open(t, o).Accounts.Stores(), time.Now, quiet)
	ctx, stop := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { node.Watch(ctx, func(string) {}, func(map[string]bool) {}) })
	defer watching.Wait()
	defer stop()

	// within waits until the node's answer about a token is the expected one.
	within := func(token, want, when string) {
		t.Helper()
		got := ""
		// A node learns of a change within a second; a busy machine may take longer.
		for limit := time.Now().Add(time.Minute); got != want; time.Sleep(time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatalf("a minute after %s: got %q, want %q", when, got, want)
			}
			p, err := node.Authenticate(ctx, token)
			if err == nil {
				err = p.May(account.Chat)
			}
			if got = "ok"; err != nil {
				got = string(llm.AsError(err).Code)
			}
		}
	}
	do := func(_ any, err error) {
		t.Helper()
		must.Do(t, err)
	}
	do(cli.CreateAccount(ctx, audit.Gateway(), "acme"))
	k, token, err := cli.CreateKey(ctx, audit.Gateway(), account.KeyOptions{Account: "acme", Label: "test"})
	do(nil, err)
	within(token.Reveal(), "ok", "the key was made")
	do(cli.Suspend(ctx, audit.Gateway(), "acme"))
	within(token.Reveal(), "FORBIDDEN", "the account was suspended")
	do(cli.Resume(ctx, audit.Gateway(), "acme"))
	within(token.Reveal(), "ok", "the account was resumed")
	do(cli.RevokeKey(ctx, audit.Gateway(), k.ID))
	within(token.Reveal(), "AUTHENTICATION_ERROR", "the key was revoked")
}
