package store_test

import (
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/webhook"
)

// TestDisabledInTurn: while somebody waits for the turn to change endpoints, nobody who
// writes how tries ended keeps them locked, for whoever has the turn wants them.
func TestDisabledInTurn(t *testing.T) {
	t.Parallel()
	o := engines()["PostgreSQL"](t)
	s := open(t, o)
	if _, err := s.MasterKey(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	e := webhook.Endpoint{ID: "w", URL: "https://example.com/", Created: time.Now()}
	if err := s.AddWebhook(t.Context(), audit.Gateway(), e, webhook.Sealed{Text: "sealed", Key: "k"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Tell(t.Context(), webhook.NewEvent(webhook.ModelUnpriced, "", time.Now(), webhook.Data{Model: "x/y"})); err != nil {
		t.Fatal(err)
	}
	jobs, err := s.TakeDeliveries(t.Context(), "w", 1)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("took %+v, %v; want one delivery", jobs, err)
	}
	db := behind(t, o)
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "SELECT pg_advisory_xact_lock(x'77656972'::int, 2)"); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- s.EndTries(t.Context(), []webhook.Outcome{{Job: &jobs[0], State: webhook.Failed, Gone: true, Try: webhook.Try{N: 1, At: time.Now(), Status: 410}}})
	}()
	awaitWaiting(t, db)
	if _, err := tx.ExecContext(t.Context(), "SET LOCAL lock_timeout = '300ms'; UPDATE webhooks SET types = '[]'"); err != nil {
		t.Errorf("change the endpoint: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got, err := s.Webhook(t.Context(), "w"); err != nil || got.Disabled == nil {
		t.Errorf("after 410: got %+v, %v; want it disabled", got, err)
	}
}

// TestClockOfTries: a node whose clock is wrong signs with the time of the database,
// for receivers refuse what is minutes off.
func TestClockOfTries(t *testing.T) {
	t.Parallel()
	o := engines()["PostgreSQL"](t)
	o.Clock = func() time.Time { return time.Now().Add(-time.Hour) }
	s := open(t, o)
	if _, err := s.MasterKey(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	if err := s.AddWebhook(t.Context(), audit.Gateway(), webhook.Endpoint{ID: "w", URL: "https://example.com/"}, webhook.Sealed{Text: "sealed", Key: "k"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.TellOne(t.Context(), "w", webhook.NewEvent(webhook.Test, "", time.Now(), webhook.Data{})); err != nil {
		t.Fatal(err)
	}
	jobs, err := s.TakeDeliveries(t.Context(), "w", 1)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("took %+v, %v; want one delivery", jobs, err)
	}
	if off := time.Since(jobs[0].At).Abs(); off > time.Minute {
		t.Errorf("got the time %s, which is %s off", jobs[0].At, off)
	}
	if now, err := s.Time(t.Context()); err != nil || time.Since(now).Abs() > time.Minute {
		t.Errorf("got %s, %v; want the time of the database", now, err)
	}
}
