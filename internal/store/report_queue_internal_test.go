package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"modernc.org/sqlite"

	"weir/internal/account"
	"weir/internal/alert"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
)

// watchedReads returns a database that calls read for each row that is read from the rollup of uses.
func watchedReads(t *testing.T, rows string, read func()) *DB {
	t.Helper()
	name := fmt.Sprint("watched_", time.Now().UnixNano()) // of this process
	sqlite.MustRegisterScalarFunction(name, 0, func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		read()
		return int64(1), nil
	})
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "weir.db")})
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, s.Close()) })
	for _, text := range []string{
		"INSERT INTO rollup_uses (period, account, model, requests) " + rows,
		"ALTER TABLE rollup_uses RENAME TO uses_behind",
		"CREATE VIEW rollup_uses AS SELECT * FROM uses_behind WHERE " + name + "() = 1",
	} {
		_, err := s.sure.ExecContext(t.Context(), text)
		must.Do(t, err)
	}
	return s
}

// TestReportsLeaveReaders has an account request many slow reports at once: one is read at a time, a bounded number
// waits, and the others are refused. A key is looked up and another account's report is read meanwhile.
func TestReportsLeaveReaders(t *testing.T) {
	t.Parallel()
	var inside atomic.Int64
	let := make(chan struct{})
	s := watchedReads(t, "VALUES (20261121, 'acc_a', 'm', 1), (20261121, 'acc_b', 'm', 1)", func() {
		inside.Add(1)
		defer inside.Add(-1)
		<-let
	})
	done := make(chan error)
	uses := func(account string) error {
		p, err := s.Reports.Uses(t.Context(), report.UsesQuery{Account: account, Limit: 1})
		if err == nil && p.Total.Requests != 1 {
			err = errors.New("not the account's usage")
		}
		return err
	}
	ask := func(account string) { done <- uses(account) }
	for range 1 + mostWaiting {
		go ask("acc_a")
	}
	eventually(t, func() bool { return s.reportQueue.Waiting("acc_a") == mostWaiting && inside.Load() == 1 })
	if e, ok := errors.AsType[*llm.Error](uses("acc_a")); !ok || e.Code != llm.CodeRateLimited || e.RetryAfter <= 0 {
		t.Errorf("one more: got %v, want a refusal with the time of a retry", e)
	}
	go ask("acc_b")
	eventually(t, func() bool { return inside.Load() == 2 })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, _, err := s.Accounts.KeyByHash(ctx, account.Hash{}); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("a key meanwhile: got %v, want %v", err, account.ErrNotFound)
	}
	close(let)
	for range 2 + mostWaiting {
		must.Do(t, <-done)
	}
	if !s.reportQueue.Idle() {
		t.Error("a report still runs or waits")
	}
}

// TestAlertsDoNotWaitForReports reads the facts of alerts while as many reports run as may run at once.
func TestAlertsDoNotWaitForReports(t *testing.T) {
	t.Parallel()
	s := must.Get(Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "weir.db")}))(t)
	t.Cleanup(func() { must.Do(t, s.Close()) })
	for _, account := range []string{"", "acc_a"} {
		must.Do(t, s.enterReports(t.Context(), account))
		tx := must.Get(s.reports.BeginTx(t.Context(), nil))(t)
		defer func() { must.Do(t, tx.Rollback()) }()
	}
	ctx, cancel := context.WithTimeout(t.Context(), turnWait/2)
	defer cancel()
	must.Get(s.Alerts.Facts(ctx, &alert.Rules{ErrorPercent: 1}, time.Now()))(t)
}

// outsideTurns lists the methods of Reports that do not wait for one account's turn, with the reason.
var outsideTurns = map[string]string{
	"AccountOf": "reads one row", "Attempt": "reads one row", "FirstDay": "reads one row", "Time": "reads no table",
	"AccountsOverview": "for all accounts", "Explain": "for operators", "Export": "for operators",
	"AccountNames": "for operators", "SetNames": "reads the names of one page", "Unpriced": "for operators", "StatementsOf": "for operators", "Unseen": "for operators", "UnseenAttempts": "for operators", "VerifyStatements": "for operators",
}

// TestListsTakeTurns checks that every list of an account's objects, and every report, waits for the account's turn.
func TestListsTakeTurns(t *testing.T) {
	t.Parallel()
	s := must.Get(Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "weir.db")}))(t)
	t.Cleanup(func() { must.Do(t, s.Close()) })
	must.Do(t, s.enterReports(t.Context(), "acc_a"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	id := must.Get(uuid.NewV7())(t)
	lists := map[string]func() error{
		"keys":        func() error { _, err := s.Accounts.Keys(ctx, "acc_a"); return err },
		"members":     func() error { _, err := s.Members.Members(ctx, "acc_a"); return err },
		"invitations": func() error { _, err := s.Invitations.Invitations(ctx, "acc_a", time.Now()); return err },
	}
	reports := map[string]func() error{
		"KeysUsed":       func() error { _, err := s.Reports.KeysUsed(ctx, "acc_a"); return err },
		"KeySpend":       func() error { _, err := s.Reports.KeySpend(ctx, "acc_a", "2026-11-21", "2026-11-21", 1); return err },
		"Request":        func() error { _, _, err := s.Reports.Request(ctx, "acc_a", id); return err },
		"RequestAtCost":  func() error { _, _, err := s.Reports.RequestAtCost(ctx, "acc_a", id); return err },
		"Statements":     func() error { _, err := s.Reports.Statements(ctx, "acc_a"); return err },
		"Uses":           func() error { _, err := s.Reports.Uses(ctx, report.UsesQuery{Account: "acc_a", Limit: 1}); return err },
		"DraftStatement": func() error { _, err := s.Reports.DraftStatement(ctx, "acc_a", 202611); return err },
		"UsesTogether": func() error {
			return s.Reports.UsesTogether(ctx, "acc_a", func(func(report.UsesQuery) (report.UsesPage, error)) error { return nil })
		},
		"RequestsSince": func() error {
			_, err := s.Reports.RequestsSince(ctx, "acc_a", report.Cursor{}, 1)
			return err
		},
		"Overview": func() error {
			_, err := s.Reports.Overview(ctx, report.OverviewQuery{Account: "acc_a", From: "2026-11-21", To: "2026-11-21"})
			return err
		},
		"Requests": func() error {
			_, _, err := s.Reports.Requests(ctx, report.RequestsQuery{Account: "acc_a", Limit: 1})
			return err
		},
	}
	for method := range reflect.TypeOf(s.Reports).Methods() {
		if reports[method.Name] == nil && outsideTurns[method.Name] == "" {
			t.Errorf("Reports.%s is not tested: add it to reports, or to outsideTurns with the reason", method.Name)
		}
	}
	maps.Copy(lists, reports)
	for name, list := range lists {
		if e, ok := errors.AsType[*llm.Error](list()); !ok || e.Code != llm.CodeRateLimited {
			t.Errorf("%s: got %v, want it refused", name, e)
		}
	}
}

// TestPageOverDays reads a page that begins on one day with many entries and ends on another: except for the sums of
// the days, rows are read up to the end of the page, and no day is read to its end.
func TestPageOverDays(t *testing.T) {
	t.Parallel()
	const perDay = 1000
	rows := 0
	s := watchedReads(t, "SELECT day, 'acc_a', 'm' || substr(100000 + i, 2), 1 FROM (SELECT 20261120 AS day UNION ALL SELECT 20261121) d, "+
		"(WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999) SELECT i FROM n)", func() { rows++ })
	p, err := s.Reports.Uses(t.Context(), report.UsesQuery{Account: "acc_a", Limit: 10, Offset: perDay - 5})
	must.Do(t, err)
	if len(p.Uses) != 10 || p.Count != 2*perDay || p.Uses[4].Date+p.Uses[4].Model != "2026-11-21m00999" || p.Uses[5].Date+p.Uses[5].Model != "2026-11-20m00000" {
		t.Errorf("got %+v of %d", p.Uses, p.Count)
	}
	if most := 2*perDay + perDay + 50; rows > most {
		t.Errorf("%d rows were read, want at most %d", rows, most)
	}
}

func eventually(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("timeout after a minute")
		}
	}
}
