package store

import (
	"errors"
	"math"
	"path/filepath"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/must"
	"weir/internal/webhook"
)

// TestNoRoomForDeliveries simulates a nearly full disk: no event is stored, and operators can continue.
func TestNoRoomForDeliveries(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "weir.db")})
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, s.Close()) })
	free := int64(math.MaxInt64)
	s.outbox.room.free = func() (int64, error) { return free, nil }
	must.Get(s.Webhooks.MasterKey(t.Context(), "k"))(t)
	now := time.Now()
	must.Do(t, s.Accounts.CreateAccount(t.Context(), audit.Gateway(), account.Account{ID: "a", Name: "a", Created: now}))
	must.Do(t, s.Webhooks.AddWebhook(t.Context(), audit.Gateway(), webhook.Endpoint{ID: "w", Account: "a", Created: now}, webhook.Sealed{Text: "x", Key: "k"}))
	suspend := func(suspended bool, want int) {
		t.Helper()
		got, err := s.Accounts.UpdateAccount(t.Context(), audit.Gateway(), "a", account.Update{Suspended: &suspended})
		if err != nil || got.Suspended != suspended {
			t.Errorf("suspended %t: got %+v, %v", suspended, got, err)
		}
		all := must.Get(s.Deliveries.Deliveries(t.Context(), webhook.DeliveryQuery{Webhook: "w", Limit: 10}))(t)
		if len(all) != want {
			t.Errorf("%d bytes free: got %d deliveries, want %d", free, len(all), want)
		}
	}
	suspend(true, 1)
	free = leastFree - 1
	suspend(false, 1)
	if _, err := s.Deliveries.TellOne(t.Context(), "w", webhook.NewEvent(webhook.Test, "a", now, webhook.Data{})); !errors.Is(err, webhook.ErrNoRoom) {
		t.Errorf("a test: got %v, want ErrNoRoom", err)
	}
	free = leastFree
	suspend(true, 2)
}
