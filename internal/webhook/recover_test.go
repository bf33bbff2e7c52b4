package webhook_test

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/webhook"
)

// TestRecoverSendsMissedEvents has a receiver answer 410, and its owner enable it weeks later: all events of the last
// 28 days arrive, once, with their original ids.
func TestRecoverSendsMissedEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var gone atomic.Bool
	to := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		if gone.Load() {
			w.WriteHeader(http.StatusGone)
		}
	})
	hook := r.add(to)
	r.deliver()
	r.tell()
	await(t, "the first event", func() bool { return len(to.came()) == 1 })
	gone.Store(true)
	refused := r.tell()
	await(t, "its end", func() bool {
		e, err := r.service.Endpoint(t.Context(), hook.ID)
		return err == nil && e.Disabled != nil
	})
	gone.Store(false)
	r.advance(time.Hour)
	missed := r.tell()
	r.advance(27 * 24 * time.Hour)
	late := r.tell()

	for _, since := range []time.Time{{}, r.clock().Add(time.Second)} {
		_, err := r.service.Recover(t.Context(), hook.ID, since)
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Param != "since" {
			t.Errorf("since %s: got %v, want that it is refused", since, err)
		}
	}
	if _, err := r.service.Recover(t.Context(), hook.ID, r.clock()); llm.AsError(err).Code != llm.CodeInvalidRequest {
		t.Errorf("while it is disabled: got %v, want that it is refused", err)
	}
	must.Get(r.service.Change(t.Context(), audit.Gateway(), hook.ID, webhook.Update{Disabled: new(false)}))(t)
	recovers := func(want int) {
		t.Helper()
		if n, err := r.service.Recover(t.Context(), hook.ID, r.clock().AddDate(-1, 0, 0)); n != want || err != nil {
			t.Errorf("recovered: got %d, %v; want %d", n, err, want)
		}
	}
	recovers(3)
	await(t, "what it had not taken", func() bool { return len(to.came()) == 5 })
	times := map[string]int{}
	for _, g := range to.came() {
		times[g.id]++
	}
	if times[refused.ID.String()] != 2 || times[missed.ID.String()] != 1 || times[late.ID.String()] != 1 {
		t.Errorf("received: got %v, want %s again, and %s and %s once", times, refused.ID, missed.ID, late.ID)
	}
	await(t, "the end of all", func() bool {
		for _, d := range r.deliveries(hook.ID) {
			if d.State != webhook.Delivered {
				return false
			}
		}
		return true
	})
	recovers(0)

	must.Get(r.service.Change(t.Context(), audit.Gateway(), hook.ID, webhook.Update{Disabled: new(true)}))(t)
	r.tell()
	r.advance(webhook.RecoverFor + time.Second)
	must.Get(r.service.Change(t.Context(), audit.Gateway(), hook.ID, webhook.Update{Disabled: new(false)}))(t)
	recovers(0) // it is too old
}
