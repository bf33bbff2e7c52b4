package webhook_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/budget"
	"weir/internal/webhook"
)

// TestNoticesOfMany checks that an account with thousands of refused keys does not displace the notices of others while
// the database is away.
func TestNoticesOfMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var up atomic.Bool
		told := map[string]int{}
		n := webhook.NewNotices(webhook.NoticesOptions{
			Tell: func(_ context.Context, e webhook.Event) error {
				if !up.Load() {
					return context.DeadlineExceeded
				}
				told[e.Account]++
				return nil
			},
			TellExceeded: func(context.Context, budget.Exceeded) (bool, error) { return false, nil },
			Now:          time.Now, Log: quiet(),
		})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); n.Run(ctx) }()
		for i := range 5000 {
			n.RateLimited("many", fmt.Sprintf("key %d", i), webhook.RateLimit{What: fmt.Sprint(i)})
			n.Exceeded("many", budget.Exceeded{Budget: budget.Budget{Scope: fmt.Sprintf("key %d", i)}})
		}
		n.RateLimited("few", "key", webhook.RateLimit{})
		n.Provider(webhook.ProviderUnavailable, webhook.Target{Provider: "p", Model: "m"}, true)
		up.Store(true)
		time.Sleep(time.Minute)
		n.RateLimited("many", "another key", webhook.RateLimit{}) // the earlier ones have been written: there is room
		time.Sleep(time.Minute)
		stop()
		<-done
		if told["few"] != 1 || told[""] != 1 || told["many"] < 2 {
			t.Errorf("got the events %v, want those of the others too", told)
		}
	})
}

// TestExceededBudgetIsQueriedRarely checks that once a budget is known to be reported, the database is not queried
// again for a while, for any number of refused requests; another period or another limit is queried separately.
func TestExceededBudgetIsQueriedRarely(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, spent := 0, false
		n := webhook.NewNotices(webhook.NoticesOptions{
			Tell:         func(context.Context, webhook.Event) error { return nil },
			TellExceeded: func(context.Context, budget.Exceeded) (bool, error) { asked++; return spent, nil },
			Now:          time.Now, Log: quiet(),
		})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); n.Run(ctx) }()
		x := budget.Exceeded{Budget: budget.Budget{Scope: "k", Period: budget.PeriodDay, Limit: 100}, At: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
		refuse := func(x budget.Exceeded, during time.Duration) (questions int) {
			before := asked
			for range int(during / time.Second) {
				n.Exceeded("a", x)
				time.Sleep(time.Second)
			}
			synctest.Wait()
			return asked - before
		}
		if got := refuse(x, time.Minute); got != 12 {
			t.Errorf("a minute while it is only held: got %d queries, want 12", got)
		}
		spent = true
		if got := refuse(x, time.Minute); got != 1 {
			t.Errorf("a minute when it is spent: got %d queries, want one", got)
		}
		other, later := x, x
		other.Budget.Limit, later.At = 200, x.At.AddDate(0, 0, 1)
		if got := refuse(other, 5*time.Second) + refuse(later, 5*time.Second); got != 2 {
			t.Errorf("another limit, another day: got %d queries, want two", got)
		}
		stop()
		<-done
	})
}

// TestRateLimitedOnce checks that an account with many keys is notified once a minute about each limit, for any
// refusals of its keys.
func TestRateLimitedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		told := map[string]int{}
		n := webhook.NewNotices(webhook.NoticesOptions{
			Tell: func(_ context.Context, e webhook.Event) error { told[e.Once]++; return nil },
			Now:  time.Now, Log: quiet(),
		})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); n.Run(ctx) }()
		for range 2 {
			for i := range 100 {
				for _, what := range []string{"rpm", "tpm"} {
					n.RateLimited("a", fmt.Sprintf("key %d", i), webhook.RateLimit{Of: "key", What: what, Limit: int64(i)})
				}
			}
			time.Sleep(time.Minute)
		}
		stop()
		<-done
		if len(told) != 2 || told["rate_limit.exceeded a key rpm"] != 2 || told["rate_limit.exceeded a key tpm"] != 2 {
			t.Errorf("got events %v, want two of each limit in two minutes", told)
		}
	})
}
