package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/report"
)

// noon is when the attempts of these tests are opened, unless they set another time.
var noon = time.Date(2026, 11, 21, 12, 34, 56, 789000, time.UTC)

func price() llm.Price {
	return llm.Price{
		Version: "openai/gpt@1",
		Rates:   llm.Rates{llm.Input: 150_000, llm.CacheRead: 15_000, llm.Output: 600_000},
		Tiers:   []llm.Tier{{Above: 1000, Rates: llm.Rates{llm.Input: 300_000, llm.Output: 1_200_000}}},
	}
}

func priceRecord() ledger.PriceRecord {
	p := price()
	return ledger.PriceRecord{Version: p.Version, Rates: p.Rates, Tiers: p.Tiers, Modes: p.Modes}
}

// attempt returns the n-th opened attempt of acc_a.
func attempt(n int) ledger.Attempt {
	return ledger.Attempt{
		ID:      ledger.AttemptID{Request: uuid.NewSHA1(uuid.Nil, fmt.Append(nil, n)), N: 1},
		Account: "acc_a", Key: "key_a", Requested: "fast", Provider: "openai", Model: "org/gpt", Opened: noon,
		Arrived: noon, Stream: true, Region: "eu-west-1",
		Price: price(), Bound: llm.Usage{llm.Input: 100, llm.Output: 4096}, Hold: 2472600,
	}
}

// entry returns the n-th attempt, settled.
func entry(n int) ledger.Entry {
	e := ledger.Entry{Attempt: attempt(n), Settlement: ledger.Settlement{
		Outcome: ledger.OutcomeOK, Provenance: ledger.Exact, Usage: llm.Usage{
			llm.Input: 10, llm.CacheRead: 5,
			llm.Output: 20,
		},
		Counts: true, Finish: llm.FinishStop, Tier: "default", Status: 200, FirstToken: 1500 * time.Microsecond,
		Duration: time.Second, Served: ledger.Served{Model: "gpt-5-mini-2025-08-07"},
	}}
	e.Cost, e.Unpriced = e.Price.Cost(&e.Usage, e.Tier), e.Price.Unpriced(&e.Usage, e.Tier)
	return e
}

// unknown returns the n-th attempt, with unknown outcome.
func unknown(n int) ledger.Entry {
	a := attempt(n)
	return ledger.Entry{Attempt: a, Settlement: ledger.Settlement{
		Outcome: ledger.OutcomeUnknown, Provenance: ledger.Unknown, Usage: a.Bound, Cost: a.Hold, AtMost: a.Hold,
		Counts: true,
	}}
}

// tape is a journal that is applied to a store.
type tape struct {
	journal uuid.UUID
	at      ledger.Position
}

func newTape() *tape { return &tape{journal: uuid.New()} }

func (j *tape) next(opened []ledger.Attempt, settled ...ledger.Entry) *ledger.Batch {
	b := &ledger.Batch{
		Journal: j.journal, From: j.at, To: j.at + 100,
		Prices: []ledger.PriceRecord{priceRecord()}, Opened: opened, Settled: settled,
	}
	j.at = b.To
	return b
}

func apply(t *testing.T, f *fixture, b *ledger.Batch) {
	t.Helper()
	if err := f.Ledger.Apply(t.Context(), b); err != nil {
		t.Fatalf("apply: %v", err)
	}
}

// verified fails the test if the rollups differ from the rows.
func verified(t *testing.T, f *fixture) report.Verification {
	t.Helper()
	v, err := f.Ledger.Verify(t.Context(), nil)
	if err != nil || len(v.Differences) > 0 {
		t.Errorf("verify: got %+v, %v; want no difference", v.Differences, err)
	}
	return v
}

func uses(t *testing.T, f *fixture, q report.UsesQuery) report.UsesPage {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 1000
	}
	page, err := f.Reports.Uses(t.Context(), q)
	if err != nil {
		t.Fatalf("uses %+v: %v", q, err)
	}
	return page
}

func testPosition(t *testing.T, f *fixture) {
	j, other := newTape(), newTape()
	first := j.next(nil, entry(1))
	apply(t, f, first)
	apply(t, f, j.next(nil, entry(2)))
	apply(t, f, other.next(nil, entry(3)))
	if err := f.Ledger.Apply(t.Context(), first); !errors.Is(err, ledger.ErrMoved) {
		t.Errorf("apply a batch again: got %v, want ErrMoved", err)
	}
	ahead := newTape()
	ahead.at = 700
	if err := f.Ledger.Apply(t.Context(), ahead.next(nil, entry(4))); !errors.Is(err, ledger.ErrMoved) {
		t.Errorf("apply a batch ahead of the database: got %v, want ErrMoved", err)
	}
	for journal, want := range map[uuid.UUID]ledger.Position{j.journal: 200, other.journal: 100, ahead.journal: 0} {
		if got, err := f.Ledger.Position(t.Context(), journal); got != want || err != nil {
			t.Errorf("position: got %d, %v; want %d", got, err, want)
		}
	}
	if v := verified(t, f); v.Rows != 3 {
		t.Errorf("got %d rows, want 3", v.Rows)
	}
	if err := f.Ledger.Durable(t.Context()); err != nil {
		t.Errorf("durable: %v", err)
	}
}

func testOpenAttempts(t *testing.T, f *fixture) {
	j, other := newTape(), newTape()
	unpriced := attempt(2)
	unpriced.Price = llm.Price{}
	apply(t, f, j.next([]ledger.Attempt{attempt(1), unpriced}))
	apply(t, f, other.next([]ledger.Attempt{attempt(3)}))
	apply(t, f, j.next([]ledger.Attempt{attempt(4)}, entry(1)))
	got, err := f.Ledger.OpenAttempts(t.Context(), j.journal)
	want := map[ledger.AttemptID]ledger.Attempt{unpriced.ID: unpriced, attempt(4).ID: attempt(4)}
	open := map[ledger.AttemptID]ledger.Attempt{}
	for _, a := range got {
		open[a.ID] = a
	}
	if err != nil || !cmp.Equal(open, want) {
		t.Errorf("open attempts: err %v\n%s", err, cmp.Diff(open, want))
	}
	if v := verified(t, f); v.Rows != 4 || v.Open != 3 {
		t.Errorf("got %d rows, %d open; want 4, 3", v.Rows, v.Open)
	}
}

// testSettledOnce settles attempts again, which an intact journal never does.
func testSettledOnce(t *testing.T, f *fixture) {
	j := newTape()
	apply(t, f, j.next(nil, entry(1)))
	twice := entry(1)
	twice.Cost, twice.Usage[llm.Output] = 999, 999
	apply(t, f, j.next([]ledger.Attempt{attempt(1)}, entry(2), twice, entry(2)))
	page := uses(t, f, report.UsesQuery{Account: "acc_a"})
	e := entry(1)
	if want := (report.Totals{Tokens: 70, Requests: 2, Cost: 2 * e.Cost}); page.Total != want {
		t.Errorf("got %+v, want %+v", page.Total, want)
	}
	if got, _, err := f.Reports.Attempt(t.Context(), e.ID); err != nil || !cmp.Equal(got, e) {
		t.Errorf("the settled row: err %v\n%s", err, cmp.Diff(got, e))
	}
	if n := strings.Count(f.logged(), "settled twice"); n != 2 {
		t.Errorf("got %d log lines, want 2:\n%s", n, f.logged())
	}
	verified(t, f)
}

func testEntries(t *testing.T, f *fixture) {
	full, second, unpriced := entry(1), entry(1), entry(3)
	second.ID.N = 2
	second.Outcome, second.Code, second.Status, second.Counts = ledger.OutcomeRejected, llm.CodeProviderError, 500,
		false
	unpriced.Price, unpriced.Cost, unpriced.Requested, unpriced.Account = llm.Price{}, 0, "openai/org/gpt", "acc_b"
	unpriced.Unpriced = unpriced.Price.Unpriced(&unpriced.Usage, "")
	apply(t, f, newTape().next([]ledger.Attempt{attempt(4)}, full, second, unpriced))
	for _, want := range []ledger.Entry{full, second, unpriced, {Attempt: attempt(4), Settlement: ledger.Settlement{
		Outcome: ledger.OutcomeOpen,
	}}} {
		if got, ok, err := f.Reports.Attempt(t.Context(), want.ID); !ok || err != nil || !cmp.Equal(got, want) {
			t.Errorf("attempt %s: found %v, err %v\n%s", want.ID, ok, err, cmp.Diff(got, want))
		}
	}
	if _, ok, err := f.Reports.Attempt(t.Context(), ledger.AttemptID{N: 1}); ok || err != nil {
		t.Errorf("no such attempt: got %v, %v; want false", ok, err)
	}
	for account, want := range map[string]int{"": 3, "acc_a": 2, "acc_b": 1, "acc_c": 0} {
		if got := export(t, f, account); len(got) != want {
			t.Errorf("export of account %q: got %d rows, want %d", account, len(got), want)
		}
	}
}

// testTexts checks that no text of a client or a provider can block the journal.
func testTexts(t *testing.T, f *fixture) {
	e := entry(1)
	e.Requested, e.Tier = "a\x00b \u2028 'é' ? $1", "\x00\x01\"\\"
	e.Served = ledger.Served{Model: "\x00 \u2028 'é' ? $1", Other: true}
	apply(t, f, newTape().next([]ledger.Attempt{attempt(2)}, e))
	if got, ok, err := f.Reports.Attempt(t.Context(), e.ID); !ok || err != nil || !cmp.Equal(got, e) {
		t.Errorf("found %v, err %v\n%s", ok, err, cmp.Diff(got, e))
	}
	torn := entry(3)
	torn.Tier = "\xff"
	apply(t, f, newTape().next(nil, torn))
	verified(t, f)
}

func testMidnight(t *testing.T, f *fixture) {
	before, after := entry(1), entry(2)
	before.Opened = time.Date(2026, 11, 20, 23, 59, 59, 999999000, time.UTC)
	before.Arrived = before.Opened
	before.Duration = time.Minute
	after.Opened = before.Opened.Add(time.Microsecond)
	after.Arrived = after.Opened
	j := newTape()
	apply(t, f, j.next([]ledger.Attempt{before.Attempt}))
	apply(t, f, j.next(nil, before, after))
	page := uses(t, f, report.UsesQuery{Account: "acc_a"})
	if len(page.Uses) != 2 || page.Uses[0].Date != "2026-11-21" || page.Uses[1].Date != "2026-11-20" ||
		page.Uses[1].Requests != 1 {
		t.Errorf("got %+v, want one request on each side of midnight", page.Uses)
	}
	verified(t, f)
}

// testWriters writes in two processes concurrently for a while.
func testWriters(t *testing.T, f *fixture) {
	second := f.open(t)
	done := make(chan error, 2)
	const batches = 60
	go func() {
		j := newTape()
		for i := range batches {
			if err := second.Ledger.Apply(t.Context(), j.next(nil, entry(i))); err != nil {
				done <- fmt.Errorf("apply %d: %w", i, err)
				return
			}
		}
		done <- nil
	}()
	go func() {
		for i := range batches {
			if err := f.Accounts.CreateAccount(t.Context(), audit.Gateway(),
				newAccount(fmt.Sprint("n", i))); err != nil {
				done <- fmt.Errorf("create account %d: %w", i, err)
				return
			}
		}
		done <- nil
	}()
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if v := verified(t, f); v.Rows != batches {
		t.Errorf("got %d rows, want %d", v.Rows, batches)
	}
}

// testCancelled checks that a cancelled call leaves no partial changes.
func testCancelled(t *testing.T, f *fixture) {
	j := newTape()
	batch := j.next(nil, entry(1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Ledger.Apply(ctx, batch); !errors.Is(err, context.Canceled) {
		t.Errorf("apply: got %v, want Canceled", err)
	}
	if err := f.Accounts.CreateAccount(ctx, audit.Gateway(), newAccount("a")); !errors.Is(err, context.Canceled) {
		t.Errorf("create account: got %v, want Canceled", err)
	}
	apply(t, f, batch)
	create(t, f, "a")
	if v := verified(t, f); v.Rows != 1 {
		t.Errorf("got %d rows, want 1", v.Rows)
	}
}
