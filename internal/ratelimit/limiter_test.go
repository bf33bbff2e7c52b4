package ratelimit_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/ratelimit"
)

// each runs a test over each kind of limiter.
func each(t *testing.T, test func(t *testing.T, make maker)) {
	t.Parallel()
	for name, make := range makers(t) {
		t.Run(name, func(t *testing.T) { test(t, make) })
	}
}

// TestAllAtOnce checks that all of a limit can be used at once, by many, and no more.
func TestAllAtOnce(t *testing.T) {
	each(t, func(t *testing.T, make maker) {
		r := make(ratelimit.Policy{Installation: ratelimit.Limits{RPM: 37}, PerKey: ratelimit.Limits{RPM: 30}})
		if got := race(t, 200, func(i int) asker { return r }); got != 37 {
			t.Errorf("%d of 200 at once were admitted, want 37", got)
		}
		if s := r.limiter.Stats(); s.Admitted != 37 || s.Refused != 163 || s.Alone != 0 || s.Degraded {
			t.Errorf("stats %+v, want 37 admitted, 163 refused, none decided alone", s)
		}
	})
}

// race sends n requests at once, from two keys, and counts the admitted ones.
func race(t *testing.T, n int, of func(i int) asker) (admitted int) {
	var all sync.WaitGroup
	var count atomic.Int64
	for i := range n {
		all.Go(func() {
			var r ratelimit.Reservation
			if ok, _ := ask(t, of(i), &r, ratelimit.Caller{Key: fmt.Sprint("k", i%2), Account: "a"}, 1); ok {
				count.Add(1)
			}
			r.Settle(1)
		})
	}
	all.Wait()
	return int(count.Load())
}

// TestRefusalUsesNothing checks that a request that one level refuses does not count at the others, and that the error
// names the level.
func TestRefusalUsesNothing(t *testing.T) {
	each(t, func(t *testing.T, make maker) {
		for _, test := range []struct {
			name                       string
			key, account, installation ratelimit.Limits
			words                      string
		}{
			{"key", ratelimit.Limits{RPM: 1}, ratelimit.Limits{RPM: 9}, ratelimit.Limits{RPM: 9, TPM: 90}, "This API key is limited to 1 request a minute."},
			{"account", ratelimit.Limits{RPM: 9}, ratelimit.Limits{TPM: 20}, ratelimit.Limits{RPM: 9, TPM: 90}, "This account is limited to 20 tokens a minute, and 15 are reserved for this request."},
			{"installation", ratelimit.Limits{RPM: 9}, ratelimit.Limits{RPM: 9}, ratelimit.Limits{Concurrency: 1}, "This installation is limited to 1 request at a time."},
		} {
			r := make(ratelimit.Policy{Installation: test.installation})
			c := ratelimit.Caller{Key: "k", Account: "a", KeyLimits: test.key, AccountLimits: test.account}
			var first, second ratelimit.Reservation
			if ok, _ := ask(t, r, &first, c, 15); !ok {
				t.Fatalf("%s: the first request was refused", test.name)
			}
			before := first.Status()
			for range 5 {
				err := r.Reserve(t.Context(), &second, c, 15)
				if err == nil || !strings.HasPrefix(llm.AsError(err).Message, test.words) {
					t.Errorf("%s: got %v, want %q", test.name, err, test.words)
				}
			}
			must.Equal(t, second.Status(), before, "%s: a refusal has used something", test.name)
		}
	})
}

// TestStandingIsTightestLevel checks the source of the headers: the level with the least left, with the true usage once
// it is known.
func TestStandingIsTightestLevel(t *testing.T) {
	each(t, func(t *testing.T, make maker) {
		r := make(ratelimit.Policy{Installation: ratelimit.Limits{RPM: 10, TPM: 1000}, PerAccount: ratelimit.Limits{RPM: 5}})
		c := ratelimit.Caller{Key: "k", Account: "a", KeyLimits: ratelimit.Limits{RPM: 7, TPM: 2000}}
		var one, two ratelimit.Reservation
		ask(t, r, &one, c, 400)
		want := llm.RateLimitStatus{
			Requests: llm.Allowance{Limit: 5, Remaining: 4, Reset: 61 * time.Second},
			Tokens:   llm.Allowance{Limit: 1000, Remaining: 600, Reset: 61 * time.Second},
		}
		must.Equal(t, one.Status(), want, "reserved")
		one.Settle(50)
		r.limiter.Tell()
		want.Tokens.Remaining = 950
		must.Equal(t, one.Status(), want, "settled")
		r.clock.advance(20 * time.Second)
		ask(t, r, &two, c, 5000) // the limit, and no more
		if two.Status() != (llm.RateLimitStatus{
			Requests: llm.Allowance{Limit: 5, Remaining: 4, Reset: 41 * time.Second},
			Tokens:   llm.Allowance{Limit: 1000, Remaining: 950, Reset: 41 * time.Second},
		}) {
			t.Errorf("refused: got %+v", two.Status())
		}
		if got := r.limiter.Status(c); got != two.Status() {
			t.Errorf("without asking: got %+v, want %+v", got, two.Status())
		}
		if got := r.limiter.Status(ratelimit.Caller{Key: "new", Account: "b"}).Requests; got != (llm.Allowance{Limit: 5, Remaining: 5}) {
			t.Errorf("another caller: got %+v, want 5 of 5", got)
		}
		r.limiter.Use(ratelimit.Policy{})
		if got := r.limiter.Status(ratelimit.Caller{Key: "new"}); got != (llm.RateLimitStatus{}) {
			t.Errorf("no limits any more: got %+v, want none", got)
		}
	})
}

// TestLargeRequestWaitsForEmptyWindow checks that a request larger than the limit is admitted, but only if the window
// is empty.
func TestLargeRequestWaitsForEmptyWindow(t *testing.T) {
	each(t, func(t *testing.T, make maker) {
		r := make(ratelimit.Policy{Installation: ratelimit.Limits{TPM: 100}})
		var large, small ratelimit.Reservation
		if ok, _ := ask(t, r, &large, ratelimit.Caller{}, 1<<62); !ok {
			t.Fatal("a request beyond the limit is never admitted")
		}
		large.Settle(250)
		r.limiter.Tell()
		r.clock.advance(30 * time.Second)
		if ok, wait := ask(t, r, &small, ratelimit.Caller{}, 1); ok || wait != 31*time.Second {
			t.Errorf("next to 250 of 100: admitted %v, wait %v; want 31s", ok, wait)
		}
		r.clock.advance(31 * time.Second)
		if ok, _ := ask(t, r, &small, ratelimit.Caller{}, 1); !ok {
			t.Error("refused when all is over")
		}
	})
}

// TestUnlimitedAsksNobody checks that no window is used without limits.
func TestUnlimitedAsksNobody(t *testing.T) {
	each(t, func(t *testing.T, make maker) {
		r := make(ratelimit.Policy{})
		var one ratelimit.Reservation
		if ok, _ := ask(t, r, &one, ratelimit.Caller{Key: "k", Account: "a"}, 1); !ok {
			t.Error("refused")
		}
		one.Settle(1)
		if s := r.limiter.Stats(); s.Windows != 0 || s.Admitted != 0 || one.Asked() {
			t.Errorf("stats %+v, Valkey requests %v: want none", s, one.Asked())
		}
	})
}

// TestForgetsIdleWindows checks that unused windows are removed, and that one in use is not.
func TestForgetsIdleWindows(t *testing.T) {
	t.Parallel()
	r := inMemory(t)(ratelimit.Policy{PerKey: ratelimit.Limits{RPM: 9, Concurrency: 1}})
	var held ratelimit.Reservation
	ask(t, r, &held, ratelimit.Caller{Key: "held"}, 1)
	most := 0
	for i := range 40 {
		for j := range 1000 {
			var one ratelimit.Reservation
			ask(t, r, &one, ratelimit.Caller{Key: fmt.Sprint(i, " ", j)}, 1)
			one.Settle(1)
		}
		most = max(most, r.limiter.Stats().Windows)
		r.clock.advance(61 * time.Second)
	}
	if most > 3*(1000+ratelimit.SweepAt) {
		t.Errorf("%d windows at most for 1000 keys a minute", most)
	}
	var again ratelimit.Reservation
	if ok, _ := ask(t, r, &again, ratelimit.Caller{Key: "held"}, 1); ok {
		t.Error("the window of a request that runs was forgotten")
	}
}

// TestLimitedRequestDoesNotAllocate checks that a limited request does not allocate, once its windows exist.
func TestLimitedRequestDoesNotAllocate(t *testing.T) {
	r := inMemory(t)(ratelimit.Policy{Installation: ratelimit.Limits{RPM: 1 << 40, TPM: 1 << 40, Concurrency: 9}, PerKey: ratelimit.Limits{RPM: 1 << 40}, PerAccount: ratelimit.Limits{TPM: 1 << 40}})
	var one ratelimit.Reservation
	if allocs := testing.AllocsPerRun(200, func() {
		ask(t, r.limiter, &one, ratelimit.Caller{Key: "k", Account: "a"}, 10)
		one.Settle(10)
	}); allocs != 0 {
		t.Errorf("%v allocations, want none", allocs)
	}
}

// TestLookRefusesLikeReserve checks that Look refuses the same requests as Reserve, for as long, and reserves nothing:
// on Valkey once this node knows its state.
func TestLookRefusesLikeReserve(t *testing.T) {
	each(t, func(t *testing.T, make maker) {
		r := make(ratelimit.Policy{Installation: ratelimit.Limits{RPM: 9}, PerAccount: ratelimit.Limits{RPM: 2}})
		c := ratelimit.Caller{Key: "k", Account: "a"}
		var one ratelimit.Reservation
		for i := range 3 {
			if err := r.limiter.Look(c, 1); err != nil && i < 2 {
				t.Errorf("request %d: %v, want it admitted", i+1, err)
			}
			if ok, _ := ask(t, r, &one, c, 1); ok != (i < 2) {
				t.Errorf("request %d: admitted %v; Look reserves nothing", i+1, ok)
			}
			one.Settle(1)
			r.clock.advance(time.Second)
		}
		_, want := ask(t, r, &one, c, 1)
		left := r.limiter.Status(c)
		e := llm.AsError(r.limiter.Look(c, 1))
		if e.Code != llm.CodeRateLimited || e.RetryAfter != want || !strings.HasPrefix(e.Message, "This account is limited to 2 requests a minute.") {
			t.Errorf("got %v after %s, want a refusal and %s", e, e.RetryAfter, want)
		}
		must.Equal(t, r.limiter.Status(c), left, "Look has reserved something")
		if err := r.limiter.Look(ratelimit.Caller{Key: "other", Account: "b"}, 1); err != nil {
			t.Errorf("another account: %v", err)
		}
		r.clock.advance(want)
		if err := r.limiter.Look(c, 1); err != nil {
			t.Errorf("at the announced time: %v", err)
		}
		if ok, _ := ask(t, r, &one, c, 1); !ok {
			t.Error("at the announced time: refused")
		}
	})
}
