//go:build unix

package store_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
	"weir/internal/store"
)

// cpu returns the processor time of this process.
func cpu(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	must.Do(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchEntry(r *rand.Rand, at time.Time, accounts, models int) ledger.Entry {
	account := r.IntN(accounts)
	model := fmt.Sprintf("model-%d-2026-05", r.IntN(models))
	id, err := uuid.NewV7()
	if err != nil {
		panic(err)
	}
	return ledger.Entry{
		Attempt: ledger.Attempt{
			ID:      ledger.AttemptID{Request: id, N: 1},
			Account: fmt.Sprintf("acc_%016d", account), Key: fmt.Sprintf("key_%016d", account),
			Requested: "openai/" + model, Provider: "openai", Model: model, Opened: at, Arrived: at, Stream: true,
			Price: llm.Price{Version: "openai/" + model + "@1"},
			Bound: llm.Usage{llm.Input: 2000, llm.Output: 4096}, Hold: 123456,
		},
		Settlement: ledger.Settlement{
			Outcome: ledger.OutcomeOK, Provenance: ledger.Exact, Counts: true, Finish: llm.FinishStop, Status: 200,
			Usage: llm.Usage{llm.Input: 1200, llm.CacheRead: 500, llm.Output: 300}, Cost: 12345,
			FirstToken: 300 * time.Millisecond, Duration: 2 * time.Second,
		},
	}
}

// BenchmarkApply writes batches as the projector builds them under load, and reports the cost of an attempt: on
// PostgreSQL only in this process.
func BenchmarkApply(b *testing.B) {
	for name, backend := range engines() {
		for _, accounts := range []int{1, 20, 200} {
			b.Run(fmt.Sprintf("%s/accounts=%d", name, accounts), func(b *testing.B) { benchmarkApply(b, backend(b), accounts, false) })
		}
		b.Run(name+"/accounts=200/opened-before", func(b *testing.B) { benchmarkApply(b, backend(b), 200, true) })
	}
}

// BenchmarkApplyBudgets runs BenchmarkApply for 1,000 accounts, of which the given number and their keys have budgets.
// Half of them are beyond every threshold.
func BenchmarkApplyBudgets(b *testing.B) {
	for name, backend := range engines() {
		for _, budgets := range []int{0, 100, 1000} {
			b.Run(fmt.Sprintf("%s/budgets=%d", name, budgets), func(b *testing.B) {
				o := backend(b)
				makeBenchBudgets(b, o, 1000, budgets)
				benchmarkApply(b, o, 1000, false)
			})
		}
	}
}

func makeBenchBudgets(b *testing.B, o store.Options, accounts, budgets int) {
	b.Helper()
	s, err := store.Open(b.Context(), o)
	must.Do(b, err)
	defer s.Close()
	for n := range accounts {
		a := account.Account{ID: fmt.Sprintf("acc_%016d", n), Name: fmt.Sprint("account-", n)}
		k := account.Key{ID: fmt.Sprintf("key_%016d", n), AccountID: a.ID}
		if n < budgets {
			a.Budget = account.Budget{Limit: llm.USD * 1_000_000, Period: budget.PeriodMonth}
			if n%2 == 0 {
				a.Budget.Limit = 1000 // nano-USD
			}
			k.Budget = a.Budget
		}
		err := s.Accounts.CreateAccount(b.Context(), audit.Gateway(), a)
		if err == nil {
			err = s.Accounts.CreateKey(b.Context(), audit.Gateway(), k, account.Hash(sha256.Sum256([]byte(k.ID))))
		}
		must.Do(b, err)
	}
}

func benchmarkApply(b *testing.B, o store.Options, accounts int, before bool) {
	const size, models = 1000, 4
	ctx := context.Background()
	s, err := store.Open(ctx, o)
	must.Do(b, err)
	defer s.Close()
	r := rand.New(rand.NewPCG(1, 2))
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	batch := &ledger.Batch{Journal: uuid.New()}
	var spent time.Duration
	var open []ledger.Entry
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		batch.From, batch.To = batch.To, batch.To+1
		batch.Settled = append(batch.Settled[:0], open...)
		batch.Opened, open = batch.Opened[:0], open[:0]
		for range size {
			at = at.Add(20 * time.Millisecond)
			e := benchEntry(r, at, accounts, models)
			if before { // a batch opens the attempts that the next one settles
				batch.Opened, open = append(batch.Opened, e.Attempt), append(open, e)
				continue
			}
			batch.Settled = append(batch.Settled, e)
		}
		b.StartTimer()
		used := cpu(b)
		must.Do(b, s.Ledger.Apply(ctx, batch))
		spent += cpu(b) - used
	}
	b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N*size)/1000, "cpu-µs/attempt")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size)/1000, "µs/attempt")
	b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "attempts/s")
}

// shape describes a year of rollups: models for each of the accounts on each day, with requests in each row.
type shape struct{ accounts, models, requests int }

// seedRollups fills the rollup that usage is read from.
func seedRollups(b *testing.B, o store.Options, s shape) {
	b.Helper()
	numbers, date, pad := "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)",
		"cast(strftime('%Y%m%d', '2025-11-21', '+' || d.i || ' days') AS INTEGER)", "printf('%016d', a.i)"
	if !o.URL.IsZero() {
		numbers, date, pad = "WITH n AS (SELECT i FROM generate_series(0, 1000) AS i)",
			"to_char(date '2025-11-21' + d.i, 'YYYYMMDD')::bigint", "lpad(a.i::text, 16, '0')"
	}
	db := behind(b, o)
	defer db.Close()
	insert := fmt.Sprintf(`INSERT INTO rollup_uses (period, account, model, requests, cost, tokens, attempts, use_input, use_cache_read, use_output)
		%s SELECT %s, 'acc_' || %s, 'openai/model-' || m.i || '-2026-05',
			%[4]d, %[4]d * 12345, %[4]d * 2000, %[4]d, %[4]d * 1200, %[4]d * 500, %[4]d * 300
		FROM n d CROSS JOIN n a CROSS JOIN n m
		WHERE d.i < 365 AND a.i < %[5]d AND m.i < %[6]d`, numbers, date, pad, s.requests, s.accounts, s.models)
	statements := []string{insert, "ANALYZE"}
	if !o.URL.IsZero() {
		statements[1] = "VACUUM ANALYZE" // as autovacuum does
	}
	for _, statement := range statements {
		must.Get(db.ExecContext(b.Context(), statement))(b)
	}
}

// BenchmarkUses reads pages over the rollups of a year: of 200 accounts that
// made 10 million requests together, and of 20 that made as many each.
func BenchmarkUses(b *testing.B) {
	for name, backend := range engines() {
		for _, shape := range []shape{{200, 10, 14}, {20, 30, 920}} {
			b.Run(fmt.Sprintf("%s/rows=%d", name, 365*shape.models), func(b *testing.B) {
				o := backend(b)
				s := must.Get(store.Open(b.Context(), o))(b)
				defer s.Close()
				seedRollups(b, o, shape)
				for _, offset := range []int{0, 3000} {
					b.Run(fmt.Sprintf("offset=%d", offset), func(b *testing.B) { benchmarkUses(b, s, shape, offset) })
				}
			})
		}
	}
}

func benchmarkUses(b *testing.B, s *store.DB, of shape, offset int) {
	q := report.UsesQuery{Account: "acc_0000000000000012", Limit: 100, Offset: offset}
	before := cpu(b)
	for b.Loop() {
		page, err := s.Reports.Uses(b.Context(), q)
		if err != nil || page.Count != 365*of.models || len(page.Uses) != 100 {
			b.Fatalf("got %d entries of %d, err %v; want 100 of %d", len(page.Uses), page.Count, err, 365*of.models)
		}
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N)/1e6, "cpu-ms/page")
}
