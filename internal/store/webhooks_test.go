package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/must"
	"weir/internal/store"
	"weir/internal/webhook"
)

// TestDisablingHoldsNoEndpoints checks that no writer of results of tries keeps endpoints locked while another waits
// for the turn to change them, because the owner of the turn needs them.
func TestDisablingHoldsNoEndpoints(t *testing.T) {
	t.Parallel()
	o := engines()["PostgreSQL"](t)
	s := open(t, o)
	must.Get(s.Webhooks.MasterKey(t.Context(), "k"))(t)
	e := webhook.Endpoint{ID: "w", URL: "https://example.com/", Created: time.Now()}
	must.Do(t, s.Webhooks.AddWebhook(t.Context(), audit.Gateway(), e, webhook.Sealed{Text: "sealed", Key: "k"}))
	must.Do(t, s.Events.Tell(t.Context(), webhook.NewEvent(webhook.ModelUnpriced, "", time.Now(), webhook.Data{Model: "x/y"})))
	jobs, err := s.Deliveries.TakeDeliveries(t.Context(), "w", 1)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("took %+v, %v; want one delivery", jobs, err)
	}
	db := behind(t, o)
	defer db.Close()
	tx := must.Get(db.BeginTx(t.Context(), nil))(t)
	must.Get(tx.ExecContext(t.Context(), "SELECT pg_advisory_xact_lock(x'77656972'::int, 2)"))(t)
	ended := make(chan error, 1)
	go func() {
		ended <- s.Deliveries.EndTries(t.Context(), []webhook.Outcome{{Job: &jobs[0], State: webhook.Failed, Gone: true, Try: webhook.Try{N: 1, At: time.Now(), Status: 410}}})
	}()
	awaitWaiting(t, db)
	if _, err := tx.ExecContext(t.Context(), "SET LOCAL lock_timeout = '300ms'; UPDATE webhooks SET types = '[]'"); err != nil {
		t.Errorf("change the endpoint: %v", err)
	}
	must.Do(t, tx.Rollback())
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got, err := s.Webhooks.Webhook(t.Context(), "w"); err != nil || got.Disabled == nil {
		t.Errorf("after 410: got %+v, %v; want it disabled", got, err)
	}
}

// TestShareOfEndpoint checks that no account fills the queue of an installation's endpoint: as much room as its own
// deliveries need stays free for others.
func TestShareOfEndpoint(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		must.Get(s.Webhooks.MasterKey(t.Context(), "k"))(t)
		e := webhook.Endpoint{ID: "w", URL: "https://example.com/", Created: time.Now()}
		must.Do(t, s.Webhooks.AddWebhook(t.Context(), audit.Gateway(), e, webhook.Sealed{Text: "sealed", Key: "k"}))
		fillDeliveries(t, o, "acc_a", webhook.MostWaiting("")/2-1, "w")
		for _, x := range []struct {
			account string
			dropped int64
		}{{"acc_a", 0}, {"acc_a", 1}, {"acc_b", 1}, {"acc_a", 2}, {"", 2}, {"acc_b", 2}} {
			must.Do(t, s.Events.Tell(t.Context(), webhook.NewEvent(webhook.BudgetExceeded, x.account, time.Now(), webhook.Data{})))
			if got := must.Get(s.Webhooks.Webhook(t.Context(), "w"))(t); got.Dropped != x.dropped {
				t.Errorf("after an event of account %q: %d are dropped, want %d", x.account, got.Dropped, x.dropped)
			}
		}
	})
}

// fillDeliveries writes events of an account, and for each a delivery to every one of the endpoints that waits.
func fillDeliveries(t *testing.T, o store.Options, account string, events int, endpoints ...string) {
	t.Helper()
	tamper(t, o, fmt.Sprintf("INSERT INTO events (id, type, account, at, body) WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL "+
		"SELECT i + 1 FROM c WHERE i < %d) SELECT '%s' || i, 'budget.exceeded', '%s', 0, '{}' FROM c", events, account, account))
	for _, id := range endpoints {
		tamper(t, o, fmt.Sprintf("INSERT INTO deliveries (id, webhook, event, state, begun, due, takes, failed) SELECT '%s' || id, '%s', id, "+
			"'pending', 0, 0, 0, 0 FROM events WHERE account = '%s'", id, id, account))
	}
}

// TestWaitingDeliveriesAreBounded checks that the waiting deliveries of an endpoint and of an account are bounded, that
// dropped ones are counted, and that they can be sent later. SQL writes all except the last ones.
func TestWaitingDeliveriesAreBounded(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		s, now := open(t, o), time.Now()
		must.Get(s.Webhooks.MasterKey(t.Context(), "k"))(t)
		for _, id := range []string{"acc_a", "acc_b"} {
			must.Do(t, s.Accounts.CreateAccount(t.Context(), audit.Gateway(), account.Account{ID: id, Name: id}))
		}
		var ids []string
		for i := range 7 {
			e := webhook.Endpoint{ID: fmt.Sprint("w", i), Account: "acc_a", URL: "https://example.com/", Types: []webhook.Type{webhook.RateLimitExceeded}, Created: now}
			if i == 6 {
				e.ID, e.Account = "b", "acc_b"
			}
			must.Do(t, s.Webhooks.AddWebhook(t.Context(), audit.Gateway(), e, webhook.Sealed{Text: "sealed", Key: "k"}))
			ids = append(ids, e.ID)
		}
		waiting := func(ids ...string) (n int) {
			for _, id := range ids {
				n += len(must.Get(s.Deliveries.Deliveries(t.Context(), webhook.DeliveryQuery{Webhook: id, State: webhook.Pending, Limit: 20_000}))(t))
			}
			return n
		}
		tell := func(account string, times int) {
			for range times {
				must.Do(t, s.Events.Tell(t.Context(), webhook.NewEvent(webhook.RateLimitExceeded, account, now, webhook.Data{})))
			}
		}
		fillDeliveries(t, o, "acc_a", webhook.MostWaitingInAll/6-2, ids[:6]...)
		tell("acc_a", 9)
		if n := waiting(ids[:6]...); n < webhook.MostWaitingInAll || n > webhook.MostWaitingInAll+6 {
			t.Errorf("the account: got %d deliveries that wait, want %d", n, webhook.MostWaitingInAll)
		}
		most := webhook.MostWaiting("acc_b")
		fillDeliveries(t, o, "acc_b", most-2, "b")
		tell("acc_b", 5)
		if n, e := waiting("b"), must.Get(s.Webhooks.Webhook(t.Context(), "b"))(t); n != most || e.Dropped != 3 {
			t.Errorf("the endpoint: got %d deliveries that wait and %d dropped, want %d and 3", n, e.Dropped, most)
		}
		if _, err := s.Deliveries.TellOne(t.Context(), "b", webhook.NewEvent(webhook.Test, "acc_b", now, webhook.Data{})); !errors.Is(err, webhook.ErrNoRoom) {
			t.Errorf("a test: got %v, want ErrNoRoom", err)
		}
		if _, err := s.Deliveries.Recover(t.Context(), "b", now.Add(-time.Minute)); !errors.Is(err, webhook.ErrNoRoom) {
			t.Errorf("recover: got %v, want ErrNoRoom", err)
		}
		jobs := must.Get(s.Deliveries.TakeDeliveries(t.Context(), "b", 5))(t)
		for i := range jobs {
			must.Do(t, s.Deliveries.EndTries(t.Context(), []webhook.Outcome{{Job: &jobs[i], State: webhook.Delivered}}))
		}
		n, err := s.Deliveries.Recover(t.Context(), "b", now.Add(-time.Minute))
		if e := must.Get(s.Webhooks.Webhook(t.Context(), "b"))(t); n != 3 || err != nil || e.Dropped != 0 {
			t.Errorf("recover with room: got %d sent, %d dropped, %v; want 3 and 0", n, e.Dropped, err)
		}
	})
}
