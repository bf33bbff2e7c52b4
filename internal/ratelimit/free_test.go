package ratelimit_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"weir/internal/ratelimit"
	"weir/internal/ratelimit/redistest"
	"weir/internal/worktest"
)

// TestRejectedOnAverage checks that a key's rejected attempts are on average no more a minute than the limit, in
// addition to those that were in flight at once, for any number admitted before the first rejection.
func TestRejectedOnAverage(t *testing.T) {
	worktest.NotRaced(t)
	t.Parallel()
	const most, inFlight, minutes = 10, 50, 120
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		r := inMemory(t)(ratelimit.Policy{Rejected: ratelimit.Rejections{PerKey: most}})
		caller, rejected := ratelimit.Caller{Key: "k", Account: "a"}, 0
		for began := r.clock.Now(); r.clock.Now().Sub(began) < minutes*time.Minute; {
			let := 0
			for range 1 + random.IntN(inFlight) {
				var taken ratelimit.Reservation
				if ok, _ := ask(t, r, &taken, caller, 1); ok {
					let++
				}
			}
			for range let {
				r.limiter.Rejected(caller, 1)
			}
			rejected += let
			r.clock.advance(time.Duration(random.Int64N(int64(5 * time.Second))))
		}
		if want := most*minutes + most + inFlight; rejected > want || rejected < most*minutes/20 {
			t.Errorf("seed %d: %d rejected in %d minutes, want at most %d, and some", seed, rejected, minutes, want)
		}
	}
}

// TestRejectedWaits checks that a refused request is admitted at the announced time.
func TestRejectedWaits(t *testing.T) {
	t.Parallel()
	for _, rejected := range []int64{10, 11, 25} {
		t.Run(fmt.Sprint(rejected), func(t *testing.T) {
			t.Parallel()
			r := inMemory(t)(ratelimit.Policy{Rejected: ratelimit.Rejections{PerKey: 10}})
			caller := ratelimit.Caller{Key: "k", Account: "a"}
			r.limiter.Rejected(caller, rejected)
			var taken ratelimit.Reservation
			ok, wait := ask(t, r, &taken, caller, 1)
			if ok {
				t.Fatal("admitted at once")
			}
			if err := r.limiter.Look(caller, 1); err == nil {
				t.Error("Look admits it")
			}
			r.clock.advance(wait - time.Nanosecond)
			if ok, _ := ask(t, r, &taken, caller, 1); ok {
				t.Errorf("admitted before %s", wait)
			}
			r.clock.advance(time.Nanosecond)
			if ok, again := ask(t, r, &taken, caller, 1); !ok {
				t.Errorf("refused after %s: retry in %s", wait, again)
			}
		})
	}
}

// TestRejectedOnValkey checks that nodes share the number of rejected attempts.
func TestRejectedOnValkey(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	policy := ratelimit.Policy{Rejected: ratelimit.Rejections{PerKey: 10}}
	node := func() *ratelimit.Limiter {
		return newLimiter(t, ratelimit.Options{Policy: policy, Valkey: server.URL(), Timeout: patience, Nodes: func() int { return 2 }})
	}
	one, two := node(), node()
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan struct{})
	go func() { defer close(ran); one.Run(ctx) }()
	caller := ratelimit.Caller{Key: "k", Account: "a"}
	let := func(l *ratelimit.Limiter) bool {
		var taken ratelimit.Reservation
		ok, _ := ask(t, l, &taken, caller, 1)
		return ok
	}
	one.Rejected(caller, 9)
	stop() // sends the waiting reports
	<-ran
	if !let(two) {
		t.Error("refused at a node that knows of nothing")
	}
	two.Rejected(caller, 3)
	if let(two) {
		t.Error("12 rejected at two nodes: admitted at the second, want a refusal")
	}
	if other := (ratelimit.Caller{Key: "other", Account: "a"}); two.Reserve(t.Context(), new(ratelimit.Reservation), other, 1) != nil {
		t.Error("another key was refused")
	}
}

// TestUnavailableIsTried checks that requests to a provider that is out of service are admitted up to a number, then
// one a second, and for each key separately.
func TestUnavailableIsTried(t *testing.T) {
	t.Parallel()
	r := inMemory(t)(ratelimit.Policy{Rejected: ratelimit.Rejections{PerKey: 5, PerAccount: 8}})
	try := func(key string, n int) (let int) {
		for range n {
			if r.limiter.AdmitUnavailable(ratelimit.Caller{Key: key, Account: "a"}) == nil {
				let++
			}
		}
		return let
	}
	for i, step := range []struct {
		key  string
		want int
	}{{"k", 5}, {"other", 3}, {"k", 0}} {
		if got := try(step.key, 50); got != step.want {
			t.Errorf("step %d: %d of key %s were let through, want %d", i, got, step.key, step.want)
		}
	}
	for range 10 {
		r.clock.advance(time.Second)
		if got := try("k", 50); got != 1 {
			t.Errorf("a second later %d were let through, want 1", got)
		}
	}
	r.clock.advance(2 * time.Minute)
	if got := try("k", 50); got != 5 {
		t.Errorf("minutes later %d were let through, want 5", got)
	}
}
