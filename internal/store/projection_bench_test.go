//go:build unix

package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/store"
)

// away simulates a database that accepts nothing.
type away struct{}

var errAway = errors.New("away")

func (away) Position(context.Context, uuid.UUID) (ledger.Position, error) { return 0, nil }
func (away) SetAside(context.Context, uuid.UUID) (int64, error)           { return 0, nil }

func (away) OpenAttempts(context.Context, uuid.UUID) ([]ledger.Attempt, error) { return nil, nil }
func (away) Apply(context.Context, *ledger.Batch) error                        { return errAway }
func (away) Durable(context.Context) error                                     { return errAway }

// BenchmarkProjection has the ledger's projector apply a journal full of requests to a database, each with its two
// records, as after an outage. The processor time includes all of the gateway's process, also reading the journal. The
// given number of 1,000 accounts, and their keys, have budgets.
func BenchmarkProjection(b *testing.B) {
	for name, backend := range engines() {
		for _, budgets := range []int{0, 1000} {
			b.Run(fmt.Sprintf("%s/budgets=%d", name, budgets), func(b *testing.B) {
				o := backend(b)
				makeBenchBudgets(b, o, 1000, budgets)
				benchmarkProjection(b, o)
			})
		}
	}
}

func benchmarkProjection(b *testing.B, o store.Options) {
	const requests = 50_000
	s, err := store.Open(b.Context(), o)
	must.Do(b, err)
	defer s.Close()
	var spent time.Duration
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		fillJournal(b, dir, requests)
		b.StartTimer()
		used := cpu(b)
		l := must.Get(openLedger(b.Context(), dir, s.Ledger))(b)
		must.Do(b, l.Flush(b.Context()))
		spent += cpu(b) - used
		b.StopTimer()
		must.Do(b, l.Close(b.Context()))
		b.StartTimer()
	}
	b.ReportMetric(float64(b.N)*requests/spent.Seconds(), "requests/core-s")
	b.ReportMetric(float64(b.N)*requests/b.Elapsed().Seconds(), "requests/s")
}

func openLedger(ctx context.Context, dir string, s ledger.Store) (*ledger.Ledger, error) {
	return ledger.New(ctx, ledger.Options{Dir: dir, Store: s, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
}

// closeLedger closes a ledger whose database is away.
func closeLedger(b *testing.B, l *ledger.Ledger) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), time.Millisecond)
	defer cancel()
	_ = l.Close(ctx) // it reports that the database is away
}

// fillJournal opens and settles requests while the database is away.
func fillJournal(b *testing.B, dir string, requests int) {
	b.Helper()
	l, err := openLedger(b.Context(), dir, away{})
	must.Do(b, err)
	defer closeLedger(b, l)
	r := rand.New(rand.NewPCG(5, 6))
	for range requests {
		e := benchEntry(r, time.Now(), 1000, 4)
		e.Price.Rates = llm.Rates{llm.Input: 1000, llm.Output: 4000}
		hold := must.Get(l.Open(e.Attempt))(b)
		must.Get(hold.Settle(e.Settlement))(b)
	}
}
