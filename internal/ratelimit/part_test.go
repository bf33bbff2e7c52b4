package ratelimit_test

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/ratelimit"
	"weir/internal/ratelimit/redistest"
)

// parted returns the limits of an end user of an account that limits each to rpm requests a minute.
func parted(acc, user string, rpm int64) *account.PartLimits {
	p := account.NewPrincipal(&account.Account{ID: acc, Per: []account.Per{{Limits: account.Limits{RPM: rpm}}}}, &account.Key{ID: "k"})
	return &p.PartLimits(&llm.Attribution{User: user})[0]
}

// TestManyParts checks that a caller that invents end users creates a bounded number of windows, and leaves room for
// those of the account's other keys.
func TestManyParts(t *testing.T) {
	t.Parallel()
	at := newClock()
	l := must.Get(ratelimit.New(ratelimit.Options{Now: at.Now, Log: slog.New(slog.DiscardHandler)}))(t)
	reserve := func(key, user string) error {
		var r ratelimit.Reservation
		err := l.Reserve(t.Context(), &r, ratelimit.Caller{Key: key, Parts: []account.PartLimits{*parted("a", user, 2)}}, 1)
		r.Settle(1)
		return err
	}
	must.Do(t, reserve("k", "ada"))
	refused := 0
	for i := range 20_000 {
		if err := reserve("k", fmt.Sprint("made up ", i)); err != nil {
			refused++
		}
	}
	if windows := l.Stats().Windows; refused != 10_001 || windows > 10_000 {
		t.Errorf("20,000 end users in a minute: %d refused and %d windows, want 10,001 and at most 10,000", refused, windows)
	}
	must.Do(t, reserve("k", "ada"))
	err := llm.AsError(reserve("k", "ada"))
	if err.Code != llm.CodeRateLimited || !strings.Contains(err.Message, "This end user is limited to 2 requests a minute.") {
		t.Errorf("one who is known: got %+v, want refused by its own limit", err)
	}
	must.Do(t, reserve("other", "new"))
	at.advance(time.Minute)
	must.Do(t, reserve("k", "later"))
	if scope := budget.UserScope("a", "ada"); parted("a", "ada", 1).Scope != scope {
		t.Errorf("got another scope than %q", scope)
	}
}

// TestAllOrNothing checks that a request that the limit of its caller or of one of its parts refuses uses up nothing of
// the others.
func TestAllOrNothing(t *testing.T) {
	each(t, func(t *testing.T, make maker) {
		r := make(ratelimit.Policy{})
		of := account.NewPrincipal(&account.Account{ID: "a", Per: []account.Per{
			{Tag: "project", Limits: account.Limits{RPM: 3, TPM: 30, Concurrency: 3}}, {Limits: account.Limits{RPM: 1}},
		}}, &account.Key{ID: "k"})
		var taken []*ratelimit.Reservation
		ask := func(key, user string) error {
			c := ratelimit.Caller{Key: key, KeyLimits: ratelimit.Limits{RPM: 2, Concurrency: 2}}
			taken = append(taken, &ratelimit.Reservation{})
			c.Parts = of.PartLimits(&llm.Attribution{User: user, Tags: []llm.Tag{{Name: "project", Value: "alpha"}}})
			return r.limiter.Reserve(t.Context(), taken[len(taken)-1], c, 10)
		}
		refused := func(key, user string, times int) {
			t.Helper()
			for range times {
				if err := ask(key, user); err == nil {
					t.Fatalf("%s of %s: admitted, want refused", user, key)
				}
			}
		}
		must.Do(t, ask("one", "ada"))
		refused("one", "ada", 5) // by the limit of the end user
		must.Do(t, ask("one", "bob"))
		refused("one", "cyd", 5)      // by that of the key
		must.Do(t, ask("two", "cyd")) // 3 of the project
		refused("two", "dan", 5)
		for _, one := range taken {
			one.Settle(10)
			one.Settle(10)
		}
		r.clock.advance(61 * time.Second)
		for _, user := range []string{"ada", "bob"} {
			must.Do(t, ask("one", user))
		}
		must.Do(t, ask("two", "dan"))
	})
}

// TestRefusedKeyUsesNothingOfOthers checks that a key at its own limit that repeats its requests takes nothing of
// others' limits for a tag, not even for a moment.
func TestRefusedKeyUsesNothingOfOthers(t *testing.T) {
	t.Parallel()
	for name, valkey := range map[string]llm.Secret{"memory": {}, "valkey": redistest.Start(t).URL()} {
		t.Run(name, func(t *testing.T) {
			l := newLimiter(t, ratelimit.Options{Valkey: valkey, Timeout: patience})
			of := account.NewPrincipal(&account.Account{ID: "a", Per: []account.Per{{Tag: "project", Limits: account.Limits{RPM: 10}}}}, &account.Key{ID: "k"})
			ask := func(key string) error {
				c := ratelimit.Caller{Key: key, KeyLimits: ratelimit.Limits{Concurrency: 1}}
				c.Parts = of.PartLimits(&llm.Attribution{Tags: []llm.Tag{{Name: "project", Value: "alpha"}}})
				return l.Reserve(t.Context(), new(ratelimit.Reservation), c, 10)
			}
			must.Do(t, ask("attacker"))
			var attackers sync.WaitGroup
			var stop atomic.Bool
			for range 16 {
				attackers.Go(func() {
					for !stop.Load() {
						_ = ask("attacker") // refused each time
					}
				})
			}
			for i := range 9 {
				if err := ask(fmt.Sprint("good ", i)); err != nil {
					t.Errorf("request %d of 10 that the tag may have: %v", i+2, err)
				}
			}
			stop.Store(true)
			attackers.Wait()
			if ask("late") == nil {
				t.Error("the eleventh was admitted")
			}
		})
	}
}
