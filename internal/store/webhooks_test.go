package store_test

import (
	"fmt"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/must"
	"weir/internal/store"
	"weir/internal/webhook"
)

// TestDisabledInTurn checks that no writer of results of tries keeps endpoints locked while another waits for the turn
// to change them, because the owner of the turn needs them.
func TestDisabledInTurn(t *testing.T) {
	t.Parallel()
	o := engines()["PostgreSQL"](t)
	s := open(t, o)
	must.Get(s.Webhooks.MasterKey(t.Context(), "k"))(t)
	e := webhook.Endpoint{ID: "w", URL: "https://example.com/", Created: time.Now()}
	must.Do(t, s.Webhooks.AddWebhook(t.Context(), audit.Gateway(), e, webhook.Sealed{Text: "sealed", Key: "k"}))
	must.Do(t, s.Webhooks.Tell(t.Context(), webhook.NewEvent(webhook.ModelUnpriced, "", time.Now(), webhook.Data{Model: "x/y"})))
	jobs, err := s.Webhooks.TakeDeliveries(t.Context(), "w", 1)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("took %+v, %v; want one delivery", jobs, err)
	}
	db := behind(t, o)
	defer db.Close()
	tx := must.Get(db.BeginTx(t.Context(), nil))(t)
	must.Get(tx.ExecContext(t.Context(), "SELECT pg_advisory_xact_lock(x'77656972'::int, 2)"))(t)
	ended := make(chan error, 1)
	go func() {
		ended <- s.Webhooks.EndTries(t.Context(), []webhook.Outcome{{Job: &jobs[0], State: webhook.Failed, Gone: true, Try: webhook.Try{N: 1, At: time.Now(), Status: 410}}})
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
		half := webhook.MostWaiting("") / 2
		tamper(t, o, fmt.Sprintf("INSERT INTO events (id, type, account, at, body) WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL "+
			"SELECT i + 1 FROM c WHERE i < %d) SELECT 'e' || i, 'budget.exceeded', 'acc_a', 0, '{}' FROM c", half-1))
		tamper(t, o, "INSERT INTO deliveries (id, webhook, event, state, begun, due, takes, failed) SELECT 'd' || id, 'w', id, 'pending', 0, 0, 0, 0 FROM events")
		for _, x := range []struct {
			account string
			dropped int64
		}{{"acc_a", 0}, {"acc_a", 1}, {"acc_b", 1}, {"acc_a", 2}, {"", 2}, {"acc_b", 2}} {
			must.Do(t, s.Webhooks.Tell(t.Context(), webhook.NewEvent(webhook.BudgetExceeded, x.account, time.Now(), webhook.Data{})))
			if got := must.Get(s.Webhooks.Webhook(t.Context(), "w"))(t); got.Dropped != x.dropped {
				t.Errorf("after an event of account %q: %d are dropped, want %d", x.account, got.Dropped, x.dropped)
			}
		}
	})
}
