package ledger

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/budget"
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
			if err := l.budgets.Join(b.Context()); err != nil {
				b.Fatal(err)
			}
			l.start()
			defer l.running.Wait()
			defer l.cancel()
			ctx := b.Context()
			need := Need{Need: budget.Need{Account: fleetAccount, At: time.Now(), Least: llm.MaxCost, Most: llm.MaxCost, Budgets: []budget.Budget{
				{Scope: fleetAccount, Period: budget.PeriodMonth, Limit: 1 << 60}, {Scope: fleetKey, Period: budget.PeriodMonth, Limit: 1 << 60},
			}[:n]}}
			leased, err := l.Reserve(ctx, need) // so that nothing is leased any more
			if err != nil {
				b.Fatal(err)
			}
			leased.Release()
			need.Least, need.Most = 10, 10
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
