package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/must"
	"weir/internal/webhook"
)

// TestRetriesFollowSchedule walks a delivery through its schedule: the id and the body stay, the
// time and the signature are each try's own.
func TestRetriesFollowSchedule(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	to := newReceiver(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n < 5 {
			http.Error(w, "not today", http.StatusInternalServerError)
		}
	})
	hook := r.add(to)
	e := r.tell()
	r.deliver()
	for i, pause := range []time.Duration{0, 5 * time.Second, 25 * time.Second, 2 * time.Minute, 10 * time.Minute} {
		if i > 0 {
			r.advance(pause - time.Second)
			time.Sleep(600 * time.Millisecond) // the deliverer has looked, and it was too early
			if n := len(to.came()); n != i {
				t.Fatalf("before %s were over: got %d tries, want %d", pause, n, i)
			}
			r.advance(time.Second + pause/10 + time.Second)
		}
		await(t, fmt.Sprintf("try %d", i+1), func() bool { return len(r.deliveries(hook.ID)) > 0 && r.deliveries(hook.ID)[0].Tries == i+1 })
	}
	d, err := r.service.Delivery(t.Context(), r.deliveries(hook.ID)[0].ID)
	if err != nil || d.State != webhook.Delivered || len(d.History) != 5 || d.History[3].Status != 500 || d.History[3].Answer != "not today\n" || d.History[3].Error == "" {
		t.Errorf("delivery: got %+v, %v; want five tries, the last a success", d, err)
	}
	if e, err := r.service.Endpoint(t.Context(), hook.ID); err != nil || e.Failing != nil {
		t.Errorf("endpoint: got %+v, %v; want it to fare well", e, err)
	}
	all := to.came()
	for i, g := range all {
		if g.id != e.ID.String() || g.body != all[0].body || g.signatures != 1 || i > 0 && g.at <= all[i-1].at {
			t.Errorf("try %d: got %+v, want the id %s, the body of the first, a later time", i+1, g, e.ID)
		}
	}
}

func TestGivesUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	to := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	hook := r.add(to)
	r.tell()
	r.deliver()
	begun := r.clock()
	state := func() webhook.Delivery { return r.deliveries(hook.ID)[0] }
	for state().State == webhook.Pending {
		before := state().Tries
		if before > 0 {
			r.advance(state().Due.Sub(r.clock()) + time.Second)
		}
		await(t, "the next try", func() bool { return state().Tries > before })
		if r.clock().Sub(begun) > 73*time.Hour {
			t.Fatal("it is tried for longer than three days")
		}
	}
	if d := state(); d.State != webhook.Failed || d.Tries < 11 || d.Due != nil {
		t.Errorf("got %+v, want it failed after about 12 tries", d)
	}
	n := state().Tries
	must.Do(t, r.service.Redeliver(t.Context(), state().ID))
	await(t, "a try by hand", func() bool { return state().Tries > n })
	if d := state(); d.State != webhook.Pending || d.Due.Sub(r.clock()) > 10*time.Second {
		t.Errorf("sent again by hand: got %+v, want the schedule anew", d)
	}
}

// TestFailingEndpointIsDisabledAfterFiveDays checks that an endpoint is disabled after five days without a success, and
// not before.
func TestFailingEndpointIsDisabledAfterFiveDays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	to := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	hook := r.add(to)
	r.deliver()
	for day := range 6 {
		r.tell()
		var e webhook.Endpoint
		await(t, "its outcome, or that nothing is sent any more", func() (over bool) {
			var err error
			if e, err = r.service.Endpoint(t.Context(), hook.ID); err != nil {
				t.Fatal(err)
			}
			return r.deliveries(hook.ID)[0].Tries > 0 || e.Disabled != nil
		})
		if (e.Disabled != nil) != (day == 5) {
			t.Errorf("on day %d: got %+v", day, e)
		}
		r.advance(24 * time.Hour)
	}
	if e, _ := r.service.Endpoint(t.Context(), hook.ID); !strings.Contains(e.Why, "5 days") {
		t.Errorf("disabled because %q, want that it failed for 5 days", e.Why)
	}
	n := len(to.came())
	r.tell()
	time.Sleep(600 * time.Millisecond)
	if len(to.came()) != n {
		t.Error("a disabled endpoint gets an event")
	}
}

func TestGoneDisablesEndpoint(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	to := newReceiver(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.WriteHeader(http.StatusGone)
		}
	})
	hook := r.add(to)
	r.tell()
	r.deliver()
	await(t, "the endpoint to be disabled", func() bool {
		e, err := r.service.Endpoint(t.Context(), hook.ID)
		return err == nil && e.Disabled != nil
	})
	if _, err := r.service.Test(t.Context(), hook.ID); err == nil {
		t.Error("a disabled endpoint is tested: got no error, want one")
	}
	on := false
	must.Get(r.service.Change(t.Context(), audit.Gateway(), hook.ID, webhook.Update{Disabled: &on}))(t)
	id, err := r.service.Test(t.Context(), hook.ID)
	must.Do(t, err)
	await(t, "the test event", func() bool {
		d, err := r.service.Delivery(t.Context(), id)
		return err == nil && d.State == webhook.Delivered && d.Type == webhook.Test
	})
}

// TestRetryAfter checks that a receiver's Retry-After is obeyed.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for _, status := range []int{429, 503} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			to := newReceiver(t, func(n int, w http.ResponseWriter, _ *http.Request) {
				if n == 1 {
					w.Header().Set("Retry-After", "600")
					w.WriteHeader(status)
				}
			})
			hook := r.add(to)
			r.tell()
			r.deliver()
			await(t, "the first try", func() bool { return r.deliveries(hook.ID)[0].Tries == 1 })
			r.tell()
			r.advance(9 * time.Minute)
			time.Sleep(600 * time.Millisecond)
			if n := len(to.came()); n != 1 {
				t.Errorf("within ten minutes: got %d requests, want 1", n)
			}
			r.advance(3 * time.Minute)
			await(t, "both", func() bool { return len(to.came()) == 3 })
		})
	}
}

// TestSlowReceiver checks that a receiver that never answers delays no other, and that its try ends.
func TestSlowReceiver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	let := make(chan struct{})
	var held atomic.Int64
	slow := newReceiver(t, func(_ int, _ http.ResponseWriter, _ *http.Request) {
		held.Add(1)
		<-let
	})
	defer close(let)
	quick := newReceiver(t, nil)
	r.add(slow)
	hook := r.add(quick)
	const events = 200
	for range events {
		r.tell()
	}
	stop := r.deliver()
	await(t, "the quick receiver to have all", func() bool { return len(quick.came()) == events })
	if n := held.Load(); n < 1 || n > 8 {
		t.Errorf("%d requests at the slow receiver at once, want 1 to 8", n)
	}
	await(t, "the outcomes", func() bool {
		for _, d := range r.deliveries(hook.ID) {
			if d.State != webhook.Delivered {
				return false
			}
		}
		return true
	})
	stop() // though the slow one never answers
}

// TestStoppedDeliveryIsDueAtOnce checks that a try that a stop cuts is due at once, for another node.
func TestStoppedDeliveryIsDueAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	let := make(chan struct{})
	to := newReceiver(t, func(n int, _ http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			<-let
		}
	})
	hook := r.add(to)
	r.tell()
	stop := r.deliver()
	await(t, "the first try", func() bool { return len(to.came()) == 1 })
	stop()
	close(let)
	if d := r.deliveries(hook.ID)[0]; d.State != webhook.Pending || d.Due.After(r.clock()) || d.Tries != 0 {
		t.Errorf("after the stop: got %+v, want it due, and no try", d)
	}
	r.deliver()
	await(t, "the delivery", func() bool { return r.deliveries(hook.ID)[0].State == webhook.Delivered })
}

// TestTwoDeliverers runs two deliverers on one database: each event arrives, once.
func TestTwoDeliverers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	to := newReceiver(t, nil)
	r.add(to)
	const events = 500
	want := map[string]bool{}
	r.deliver()
	r.deliver()
	for range events {
		want[r.tell().ID.String()] = true
	}
	await(t, "all events", func() bool { return len(to.came()) >= events })
	time.Sleep(100 * time.Millisecond)
	for _, g := range to.came() {
		if !want[g.id] {
			t.Errorf("event %s arrived twice, or was never sent", g.id)
		}
		delete(want, g.id)
	}
	if len(want) > 0 {
		t.Errorf("%d events never arrived", len(want))
	}
}

// TestRotationSignsWithBothSecrets checks that both secrets sign for a day.
func TestRotationSignsWithBothSecrets(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	to := newReceiver(t, nil)
	hook := r.add(to)
	r.deliver()
	turned, secret, err := r.service.RotateSecret(t.Context(), audit.Gateway(), hook.ID)
	if err != nil || turned.Rotated == nil || !turned.Rotated.Equal(r.clock().Add(webhook.RotateFor)) {
		t.Fatalf("rotated: got %+v, %v", turned, err)
	}
	to.trust(secret)
	for i, want := range []int{2, 1} {
		r.tell()
		await(t, "the event", func() bool { return len(to.came()) == i+1 })
		if g := to.came()[i]; g.signatures != want || strings.Count(g.signature, "v1,") != want {
			t.Errorf("%d days after: got %d signatures, %q; want %d", i, g.signatures, g.signature, want)
		}
		r.advance(24 * time.Hour)
	}
	if e, err := r.service.Endpoint(t.Context(), hook.ID); err != nil || e.Rotated != nil {
		t.Errorf("after a day: got %+v, %v; want the secret before it forgotten", e, err)
	}
}

// TestLongAnswers checks that a receiver's long answer is read and stored in part.
func TestLongAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	to := newReceiver(t, func(n int, w http.ResponseWriter, req *http.Request) {
		if n == 2 {
			_, _ = w.Write([]byte("a\x00\xffz"))
			return
		}
		for req.Context().Err() == nil { // without an end
			if _, err := w.Write([]byte(strings.Repeat("x", 1<<16))); err != nil {
				return
			}
		}
	})
	hook := r.add(to)
	r.deliver()
	for i, want := range []string{strings.Repeat("x", 512), "a\uFFFD\uFFFDz"} {
		r.tell()
		await(t, "the delivery", func() bool { all := r.deliveries(hook.ID); return len(all) == i+1 && all[0].State == webhook.Delivered })
		if got := r.deliveries(hook.ID)[0].Last.Answer; got != want {
			t.Errorf("answer: got %d bytes, %.20q; want %d", len(got), got, len(want))
		}
	}
}

// TestLostOutbox checks that nothing is lost while the database is away.
func TestLostOutbox(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	to := newReceiver(t, nil)
	hook := r.add(to)
	flaky := &flakyOutbox{Outbox: r.store.Deliveries}
	flaky.broken.Store(true)
	d := webhook.NewDeliverer(webhook.DelivererOptions{Outbox: flaky, Ring: r.ring, Log: quiet()})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); d.Run(ctx) }()
	defer func() { cancel(); <-done }()
	r.tell()
	await(t, "the event to come", func() bool { return len(to.came()) == 1 })
	await(t, "the outcome to be refused", func() bool { return flaky.refused.Load() > 1 })
	flaky.broken.Store(false)
	await(t, "the outcome", func() bool { return r.deliveries(hook.ID)[0].State == webhook.Delivered })
	if n := len(to.came()); n != 1 || d.Stats() != (webhook.Stats{Delivered: 1}) {
		t.Errorf("arrived %d times, counted as %+v; want once", n, d.Stats())
	}
}

type flakyOutbox struct {
	webhook.Outbox
	broken  atomic.Bool
	refused atomic.Int64
}

func (f *flakyOutbox) EndTries(ctx context.Context, list []webhook.Outcome) error {
	if f.broken.Load() {
		f.refused.Add(1)
		return errors.New("the database is away")
	}
	return f.Outbox.EndTries(ctx, list)
}
