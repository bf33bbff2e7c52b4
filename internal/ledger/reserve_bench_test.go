package ledger

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/llm"
)

// BenchmarkClaim measures what a budget costs an attempt: open and settle
// without one, and with the budgets of an account and its key.
func BenchmarkClaim(b *testing.B) {
	for name, n := range map[string]int{"none": 0, "account": 1, "account and key": 2} {
		b.Run(name, func(b *testing.B) {
			h := newHub(time.Now, map[string]llm.Money{fleetAccount: 1 << 60, fleetKey: 1 << 60})
			conn := &hubConn{hub: h}
			l, err := openOn(b.Context(), Directory(b.TempDir()), uuid.UUID{15: 1}, Options{
				Store: conn, Leases: conn, Now: time.Now, Log: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				b.Fatal(err)
			}
			if err := l.join(b.Context()); err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			l.running.Go(func() { l.journal.run(ctx) })
			defer l.running.Wait()
			defer cancel()
			need := Need{Account: fleetAccount, At: time.Now(), Least: 10, Most: 10, Budgets: []Budget{
				{Scope: fleetAccount, Period: PeriodMonth, Limit: 1 << 60}, {Scope: fleetKey, Period: PeriodMonth, Limit: 1 << 60},
			}[:n]}
			need.Budgets = need.Budgets[:n]
			for i := range need.Budgets {
				s := l.budgetsOf(fleetAccount).leaseOf(&need.Budgets[i], need.At, need.At)
				s.known, s.granted = true, 1<<60
			}
			a := Attempt{
				ID: AttemptID{Request: uuid.UUID{1}, N: 1}, Account: fleetAccount, Key: fleetKey, Provider: "p", Model: "m",
				Opened: need.At, Arrived: need.At, Hold: 10, Price: llm.Price{Version: "v", Rates: llm.Rates{llm.Input: 1000}},
			}
			b.ReportAllocs()
			for b.Loop() {
				if a.Reservation, err = l.Reserve(ctx, need); err != nil {
					b.Fatal(err)
				}
				hold, err := l.Open(a)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := hold.Settle(Settlement{Outcome: OutcomeOK, Usage: llm.Usage{llm.Input: 1}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
