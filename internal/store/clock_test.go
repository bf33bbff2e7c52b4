package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/conversation"
	"weir/internal/idempotency"
	"weir/internal/people"
	"weir/internal/store"
	"weir/internal/webhook"
)

// TestNodeWithWrongClock runs a node whose clock is years off next to one whose clock is right, over one database:
// nothing expires, is due or is deleted too early or too late, and the other node reads its rows with the right times.
func TestNodeWithWrongClock(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{"Ahead": 400 * 24 * time.Hour, "Behind": -400 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := engines()["PostgreSQL"](t)
			right := open(t, o)
			o.Machine = func() time.Time { return time.Now().Add(off) }
			wrong := open(t, o)
			if d := wrong.Now().Sub(right.Now()).Abs(); d > time.Minute {
				t.Fatalf("its time is %s off", d)
			}
			for _, pair := range [][2]*store.DB{{right, wrong}, {wrong, right}} {
				twoNodes(t, pair[0], pair[1])
			}
		})
	}
}

// twoNodes has one node write, and the other one clean up and read.
func twoNodes(t *testing.T, writes, reads *store.DB) {
	t.Helper()
	ctx, id, now := t.Context(), uuid.NewString(), writes.Now()
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	later := now.Add(time.Hour)
	request := store.IdempotencyRecord{Record: idempotency.Record{Scope: id, Key: "k", Body: "b", Request: id}, Node: "n", Epoch: "1"}
	link := people.Hash([]byte(id)[:32])
	_, _, err := writes.Kept.IdempotencyBegin(ctx, request, time.Hour)
	must("begin idempotent request", err)
	must("keep response", writes.Kept.KeepResponse(ctx, &conversation.Record{Scope: id, ID: id, Created: now, Expires: later, Sealed: []byte("x")}))
	must("make link", writes.Accounts.CreateSetupToken(ctx, audit.Gateway(), account.Hash(link), now, later))
	must("add endpoint", writes.Webhooks.AddWebhook(ctx, audit.Gateway(), webhook.Endpoint{ID: id, URL: "https://example.com/" + id, Created: now}, webhook.Sealed{}))
	delivery, err := writes.Deliveries.TellOne(ctx, id, webhook.NewEvent(webhook.Test, "", now, webhook.Data{}))
	must("tell", err)
	jobs, err := reads.Deliveries.TakeDeliveries(ctx, id, 1)
	must("take", err)
	if len(jobs) != 1 {
		t.Errorf("of a delivery that is due: got %v, want it", jobs)
	} else {
		if off := jobs[0].At.Sub(writes.Now()).Abs(); off > time.Minute {
			t.Errorf("a delivery is signed with a time that is %s off, which receivers refuse", off)
		}
		must("end", reads.Deliveries.EndTries(ctx, []webhook.Outcome{{Job: &jobs[0], State: webhook.Delivered, Try: webhook.Try{N: 1, At: reads.Now(), Status: 200}}}))
	}

	must("forget old events", reads.Deliveries.RetainEvents(ctx))
	_, err = reads.Kept.SweepResponses(ctx)
	must("sweep responses", err)
	_, err = reads.Kept.IdempotencySweep(ctx)
	must("sweep idempotent requests", err)

	request.Request = "another"
	if state, _, err := reads.Kept.IdempotencyBegin(ctx, request, time.Hour); err != nil || state != idempotency.Running {
		t.Errorf("a request that runs: got %q, %v", state, err)
	}
	_, err = reads.Kept.Response(ctx, id)
	must("a response that is kept", err)
	_, err = reads.Admissions.LinkByHash(ctx, link, reads.Now())
	must("a link that is good", err)
	if d, err := reads.Deliveries.Delivery(ctx, delivery); err != nil || d.State != webhook.Delivered {
		t.Errorf("a delivery of a moment ago: got %+v, %v", d, err)
	}
}
