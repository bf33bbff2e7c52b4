package store_test

import (
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/must"
	"weir/internal/webhook"
)

// TestDisabledInTurn: while somebody waits for the turn to change endpoints, nobody who
// writes how tries ended keeps them locked, for whoever has the turn wants them.
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
