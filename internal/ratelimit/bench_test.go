package ratelimit_test

import (
	"context"
	"testing"

	"weir/internal/ratelimit"
	"weir/internal/ratelimit/redistest"
)

// three has limits at all levels that are never reached.
var three = ratelimit.Policy{
	Installation: ratelimit.Limits{RPM: 1 << 40, TPM: 1 << 40, Concurrency: 1 << 20},
	PerKey:       ratelimit.Limits{RPM: 1 << 40, TPM: 1 << 40, Concurrency: 1 << 20},
	PerAccount:   ratelimit.Limits{RPM: 1 << 40, TPM: 1 << 40, Concurrency: 1 << 20},
}

func BenchmarkValkey(b *testing.B) {
	server := redistest.Start(b)
	for name, p := range map[string]ratelimit.Policy{"key": {PerKey: ratelimit.Limits{RPM: 1 << 40}}, "three": three} {
		b.Run(name, func(b *testing.B) {
			l := newLimiter(b, ratelimit.Options{Policy: p, Valkey: server.URL(), Timeout: patience})
			ctx, stop := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() {
				defer close(done)
				l.Run(ctx)
			}()
			benchmark(b, l)
			stop()
			<-done
		})
	}
}

func benchmark(b *testing.B, l *ratelimit.Limiter) {
	c := ratelimit.Caller{Key: "01a1fe4d-34e3-74b1-857b-81ea1a779a22", Account: "01a1fe4d-34e3-74b1-857b-81ea1a779a23"}
	b.ReportAllocs()
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		var r ratelimit.Reservation
		for b.Loop() {
			if ok, _ := ask(b, l, &r, c, 100); !ok {
				b.Fatal("refused")
			}
			r.Settle(90)
		}
	})
	b.Run("many", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			var r ratelimit.Reservation
			for pb.Next() {
				if ok, _ := ask(b, l, &r, c, 100); !ok {
					b.Error("refused")
				}
				r.Settle(90)
			}
		})
	})
}
