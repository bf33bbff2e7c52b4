package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/webhook"
)

// testTriesInFull checks that of many attempts only the last ones have the receivers' answers.
func testTriesInFull(t *testing.T, f *fixture) {
	endpoint(t, f, "w", "")
	tell(t, f, webhook.NewEvent(webhook.ModelUnpriced, "", noon, webhook.Data{Model: "x/y"}))
	var id string
	for range 6 {
		jobs := take(t, f, "w", 1)
		id = jobs[0].ID
		must.Do(t, f.Webhooks.EndTries(t.Context(), []webhook.Outcome{{
			Job: &jobs[0], State: webhook.Pending,
			Try: webhook.Try{N: jobs[0].Take, At: noon, Status: 500, Error: strings.Repeat("e", 300), Answer: "answer"},
		}}))
	}
	d := must.Get(f.Webhooks.Delivery(t.Context(), id))(t)
	for i, try := range d.History {
		full := i >= 6-webhook.TriesInFull
		if (try.Answer == "answer") != full || (len(try.Error) == 300) != full || try.Status != 500 {
			t.Errorf("try %d of %d: got %+v, want it in full: %t", i+1, len(d.History), try, full)
		}
	}
	if len(d.History) != 6 {
		t.Errorf("got %d tries, want 6", len(d.History))
	}
}

// waitingFor returns how many deliveries of endpoints are pending, as far as they are listed.
func waitingFor(t *testing.T, f *fixture, ids ...string) (n int) {
	t.Helper()
	for _, id := range ids {
		n += len(deliveries(t, f, webhook.DeliveryQuery{Webhook: id, State: webhook.Pending, Limit: 20_000}))
	}
	return n
}

// testWebhookRoom checks that pending deliveries are bounded for an endpoint and for an account, that dropped ones
// are counted, and that they can be sent later.
func testWebhookRoom(t *testing.T, f *fixture) {
	create(t, f, "a", "b")
	var ids []string
	for i := range 6 {
		ids = append(ids, fmt.Sprint("a", i))
		endpoint(t, f, ids[i], "acc_a", webhook.RateLimitExceeded)
	}
	endpoint(t, f, "b", "acc_b", webhook.RateLimitExceeded)
	say := func(account string, times int) {
		for range times {
			tell(t, f, webhook.NewEvent(webhook.RateLimitExceeded, account, noon.Add(time.Second), webhook.Data{}))
		}
	}
	say("acc_a", webhook.MostWaitingInAll/6+7)
	if n := waitingFor(t, f, ids...); n < webhook.MostWaitingInAll || n > webhook.MostWaitingInAll+6 {
		t.Errorf("the account: got %d deliveries that wait, want %d", n, webhook.MostWaitingInAll)
	}
	most := webhook.MostWaiting("acc_b")
	say("acc_b", most+3)
	e := must.Get(f.Webhooks.Webhook(t.Context(), "b"))(t)
	if n := waitingFor(t, f, "b"); n != most || e.Dropped != 3 {
		t.Errorf("the endpoint: got %d deliveries that wait and %d dropped, want %d and 3", n, e.Dropped, most)
	}
	if _, err := f.Webhooks.TellOne(t.Context(), "b", webhook.NewEvent(webhook.Test, "acc_b", noon,
		webhook.Data{})); !errors.Is(err, webhook.ErrNoRoom) {
		t.Errorf("a test: got %v, want ErrNoRoom", err)
	}
	if _, err := f.Webhooks.Recover(t.Context(), "b", noon); !errors.Is(err, webhook.ErrNoRoom) {
		t.Errorf("recover: got %v, want ErrNoRoom", err)
	}
	jobs := take(t, f, "b", 5)
	for i := range jobs {
		must.Do(t, f.Webhooks.EndTries(t.Context(), []webhook.Outcome{{Job: &jobs[i], State: webhook.Delivered}}))
	}
	n, err := f.Webhooks.Recover(t.Context(), "b", noon)
	if e := must.Get(f.Webhooks.Webhook(t.Context(), "b"))(t); n != 3 || err != nil || e.Dropped != 0 {
		t.Errorf("recover with room: got %d sent, %d dropped, %v; want 3 and 0", n, e.Dropped, err)
	}
}
