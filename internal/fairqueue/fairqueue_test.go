package fairqueue_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/fairqueue"
	"weir/internal/must"
)

const longest = 10 * time.Second

// checkIdle checks that no step runs or waits.
func checkIdle(t *testing.T, q *fairqueue.Queue) {
	t.Helper()
	if !q.Idle() {
		t.Error("a step still runs or waits, want an idle queue")
	}
}

// TestAccountsTakeTurns has four accounts wait with many steps each and a fifth with one: it waits for one step of each
// other account.
func TestAccountsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := fairqueue.New(fairqueue.Options{AtOnce: 1, Wait: longest})
		must.Do(t, q.Enter(t.Context(), "a", false))
		var got []string // accounts in the order of their steps
		var all sync.WaitGroup
		for _, account := range strings.Fields("a a a b b b c c c d d d e") {
			all.Go(func() {
				must.Do(t, q.Enter(t.Context(), account, false))
				got = append(got, account)
				q.Leave(account)
			})
			synctest.Wait()
		}
		q.Leave("a")
		all.Wait()
		if want := strings.Fields("a b c d e a b c d a b c d"); !slices.Equal(got, want) {
			t.Errorf("got the turns %q, want %q", got, want)
		}
		checkIdle(t, q)
	})
}

// TestFirstStepsOvertakeTheirAccount checks that a first step comes before the others of its account, and before no
// other account's.
func TestFirstStepsOvertakeTheirAccount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := fairqueue.New(fairqueue.Options{AtOnce: 1, Wait: longest})
		must.Do(t, q.Enter(t.Context(), "a", false))
		var got []string
		var all sync.WaitGroup
		for _, step := range strings.Fields("a1 a2 b1 A3 b2 B3") {
			all.Go(func() {
				account := strings.ToLower(step[:1])
				must.Do(t, q.Enter(t.Context(), account, account != step[:1]))
				got = append(got, step)
				q.Leave(account)
			})
			synctest.Wait()
		}
		q.Leave("a")
		all.Wait()
		if want := strings.Fields("A3 B3 a1 b1 a2 b2"); !slices.Equal(got, want) {
			t.Errorf("got the turns %q, want %q", got, want)
		}
		checkIdle(t, q)
	})
}

// TestNeverMoreAtOnce runs steps that enter, leave and give up at random times.
func TestNeverMoreAtOnce(t *testing.T) {
	t.Parallel()
	for _, o := range []fairqueue.Options{
		{AtOnce: 2, Wait: longest},
		{AtOnce: 3, PerAccount: 1, MostWaiting: 5, Wait: longest},
	} {
		q := fairqueue.New(o)
		var all sync.WaitGroup
		var running atomic.Int64
		of := map[string]*atomic.Int64{"a": {}, "b": {}, "c": {}}
		for i := range 60 {
			all.Go(func() {
				ctx, leave := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond) // some leave early
				defer leave()
				account := string(rune('a' + i%3))
				if q.Enter(ctx, account, i%2 > 0) != nil {
					return
				}
				if n := running.Add(1); n > int64(o.AtOnce) {
					t.Errorf("%d steps run, want at most %d", n, o.AtOnce)
				}
				if n := of[account].Add(1); o.PerAccount > 0 && n > int64(o.PerAccount) {
					t.Errorf("%d steps of one account run, want at most %d", n, o.PerAccount)
				}
				time.Sleep(time.Millisecond)
				of[account].Add(-1)
				running.Add(-1)
				q.Leave(account)
			})
		}
		all.Wait()
		checkIdle(t, q)
	}
}

// TestStepsThatGiveUp checks that a step that leaves early, or waits too long, delays none behind it.
func TestStepsThatGiveUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := fairqueue.New(fairqueue.Options{AtOnce: 1, Wait: longest})
		must.Do(t, q.Enter(t.Context(), "a", false))
		ctx, leave := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		var all sync.WaitGroup
		wait := func(ctx context.Context, account string, after time.Duration, want error) {
			all.Go(func() {
				began := time.Now()
				if err := q.Enter(ctx, account, false); !errors.Is(err, want) || time.Since(began) != after {
					t.Errorf("%s: got %v after %s, want %v after %s", account, err, time.Since(began), want, after)
				}
			})
			synctest.Wait()
		}
		wait(ctx, "a", time.Second, gone)
		wait(ctx, "b", time.Second, gone)
		wait(t.Context(), "b", longest, fairqueue.ErrLate)
		time.Sleep(time.Second)
		leave(gone)
		all.Wait()
		time.AfterFunc(time.Second, func() { q.Leave("a") })
		must.Do(t, q.Enter(t.Context(), "c", false))
		q.Leave("c")
		checkIdle(t, q)
	})
}

// TestOneStepOfEachAccount checks that an account at its bound leaves the free turn to others, and retains its place.
func TestOneStepOfEachAccount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := fairqueue.New(fairqueue.Options{AtOnce: 2, PerAccount: 1, MostWaiting: 2, Wait: longest})
		must.Do(t, q.Enter(t.Context(), "a", false))
		var mu sync.Mutex
		var got []string
		var all sync.WaitGroup
		for _, account := range strings.Fields("a a b b c") {
			all.Go(func() {
				must.Do(t, q.Enter(t.Context(), account, false))
				mu.Lock()
				got = append(got, account)
				mu.Unlock()
				time.Sleep(time.Second)
				q.Leave(account)
			})
			synctest.Wait()
		}
		if err := q.Enter(t.Context(), "a", false); !errors.Is(err, fairqueue.ErrFull) || q.Waiting("a") != 2 {
			t.Errorf("a third waiting step: got %v with %d waiting, want %v", err, q.Waiting("a"), fairqueue.ErrFull)
		}
		time.Sleep(2500 * time.Millisecond)
		q.Leave("a")
		all.Wait()
		if want := strings.Fields("b b c a a"); !slices.Equal(got, want) {
			t.Errorf("got the turns %q, want %q", got, want)
		}
		checkIdle(t, q)
	})
}
