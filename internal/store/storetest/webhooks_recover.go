package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/webhook"
)

// unpriced writes an event of a model; the model's name describes the case.
func unpriced(t *testing.T, f *fixture, model string, at time.Time) {
	t.Helper()
	tell(t, f, webhook.NewEvent(webhook.ModelUnpriced, "", at, webhook.Data{Model: model}))
}

// recovers recovers an endpoint, and checks how many deliveries restart.
func recovers(t *testing.T, f *fixture, id string, since time.Time, want int) {
	t.Helper()
	if n, err := f.Deliveries.Recover(t.Context(), id, since); n != want || err != nil {
		t.Errorf("recover %s: got %d, %v; want %d", id, n, err, want)
	}
}

// able disables an endpoint, or enables it.
func able(t *testing.T, f *fixture, id string, on bool) {
	t.Helper()
	must.Get(f.Webhooks.UpdateWebhook(t.Context(), root, id, webhook.Update{Disabled: new(!on)}))(t)
}

// testRecover checks that an endpoint receives immediately the events that it has not received, and no others.
func testRecover(t *testing.T, f *fixture) {
	endpoint(t, f, "w", "", webhook.ModelUnpriced, webhook.KeyRevoked)
	unpriced(t, f, "x/long ago", noon.Add(-time.Hour)) // before the endpoint was made
	for i, what := range []string{"delivered", "failed", "retried", "under way", "waiting"} {
		unpriced(t, f, "x/"+what, noon.Add(time.Duration(i)*time.Minute))
	}
	jobs := take(t, f, "w", 5)
	outcome := func(i int, state webhook.State, after time.Duration) webhook.Outcome {
		return webhook.Outcome{Job: &jobs[i], State: state, After: after, Rest: after, Try: webhook.Try{
			N: 1, At: noon,
			Error: "no",
		}}
	}
	err := f.Deliveries.EndTries(t.Context(), []webhook.Outcome{
		outcome(0, webhook.Failed, 0), outcome(1, webhook.Delivered, 0), outcome(2, webhook.Failed, 0),
		outcome(3, webhook.Pending, time.Hour),
	})
	must.Do(t, err)
	able(t, f, "w", false)
	if _, err := f.Deliveries.Recover(t.Context(), "w", noon); !errors.Is(err, webhook.ErrDisabled) {
		t.Errorf("one that is disabled: got %v, want ErrDisabled", err)
	}
	later := noon.Add(time.Hour)
	create(t, f, "a")
	unpriced(t, f, "x/missed", later)
	revoked := webhook.NewEvent(webhook.KeyRevoked, "acc_a", later,
		webhook.Data{Key: &webhook.Key{ID: "key_a", Last4: "abcd"}})
	tell(t, f, revoked)
	tell(t, f, webhook.NewEvent(webhook.AccountResumed, "acc_a", later, webhook.Data{})) // which it does not want
	endpoint(t, f, "other", "acc_a", webhook.KeyCreated)
	if _, err := f.Deliveries.TellOne(t.Context(), "other", webhook.NewEvent(webhook.Test, "acc_a", later,
		webhook.Data{WebhookID: "other"})); err != nil {
		t.Fatal(err)
	}
	able(t, f, "w", true)

	recovers(t, f, "w", later.Add(time.Second), 0)
	recovers(t, f, "w", later, 2) // the missed ones
	recovers(t, f, "w", later, 0) // only once
	// the failed one and the retried one, but not the one from before the endpoint
	recovers(t, f, "w", noon.Add(-2*time.Hour), 2)
	recovers(t, f, "w", noon.Add(-2*time.Hour), 0)
	var due []string
	for _, j := range take(t, f, "w", 9) {
		d := must.Get(f.Deliveries.Delivery(t.Context(), j.ID))(t)
		due = append(due, string(d.Payload))
		if j.Failed > 0 || j.Event == revoked.ID.String() && d.Type != webhook.KeyRevoked {
			t.Errorf("begun anew: got %+v, want one without a failure", j)
		}
	}
	if len(due) != 5 {
		t.Errorf("due: got %q, want the failed one, the retried one, the one that waits and both that were missed", due)
	}
	if got := deliveries(t, f, webhook.DeliveryQuery{Webhook: "w", State: webhook.Delivered, Limit: 9}); len(got) != 1 {
		t.Errorf("delivered: got %+v, want it left alone", got)
	}
	if _, err := f.Deliveries.Recover(t.Context(), "nobody", noon); !errors.Is(err, webhook.ErrNotFound) {
		t.Errorf("one that is not there: got %v, want ErrNotFound", err)
	}

	// An account's endpoint receives the account's events.
	able(t, f, "other", false)
	created := webhook.NewEvent(webhook.KeyCreated, "acc_a", later,
		webhook.Data{Key: &webhook.Key{ID: "key_a", Last4: "abcd"}})
	tell(t, f, created)
	create(t, f, "b")
	tell(t, f, webhook.NewEvent(webhook.KeyCreated, "acc_b", later,
		webhook.Data{Key: &webhook.Key{ID: "key_b", Last4: "abcd"}}))
	able(t, f, "other", true)
	recovers(t, f, "other", noon, 1)
	must.Equal(t, typesOf(t, f, "other"), []webhook.Type{webhook.Test, webhook.KeyCreated}, "sent to the account")
}

// testRecoverMany recovers more than one transaction does, in two concurrent calls, and checks that each event is
// sent once.
func testRecoverMany(t *testing.T, f *fixture) {
	const many = 450
	endpoint(t, f, "w", "")
	able(t, f, "w", false)
	for i := range many {
		unpriced(t, f, fmt.Sprintf("x/%03d", i), noon.Add(time.Duration(i/3)*time.Minute)) // some at the same time
	}
	able(t, f, "w", true)
	var counts [2]int
	var together sync.WaitGroup
	for i := range counts {
		together.Go(func() {
			n, err := f.Deliveries.Recover(t.Context(), "w", noon)
			if err != nil {
				t.Errorf("recover: %v", err)
			}
			counts[i] = n
		})
	}
	together.Wait()
	list := deliveries(t, f, webhook.DeliveryQuery{Webhook: "w", Limit: 2 * many})
	events := map[string]bool{}
	for i := range list {
		events[list[i].Event] = true
	}
	if counts[0]+counts[1] != many || len(list) != many || len(events) != many {
		t.Errorf("recovered: got %v, %d deliveries of %d events, want %d of each", counts, len(list), len(events), many)
	}
	if !slices.IsSortedFunc(list, func(a, b webhook.Delivery) int { return b.At.Compare(a.At) }) {
		t.Error("the deliveries are not in the order of the events")
	}
	jobs := take(t, f, "w", many)
	var ends []webhook.Outcome
	for i := range jobs {
		ends = append(ends, webhook.Outcome{Job: &jobs[i], State: webhook.Failed, Try: webhook.Try{
			N: 1, At: noon,
			Error: "no",
		}})
	}
	must.Do(t, f.Deliveries.EndTries(t.Context(), ends))
	recovers(t, f, "w", noon, many)
}

// testWoken checks that events sent by hand are sent immediately to an endpoint that asked for a pause.
func testWoken(t *testing.T, f *fixture) {
	endpoint(t, f, "w", "")
	unpriced(t, f, "x/y", noon)
	for name, by := range map[string]func(id string) error{
		"test": func(string) error {
			_, err := f.Deliveries.TellOne(t.Context(), "w", webhook.NewEvent(webhook.Test, "", noon,
				webhook.Data{WebhookID: "w"}))
			return err
		},
		"redeliver": func(id string) error { return f.Deliveries.Redeliver(t.Context(), id) },
		"recover": func(string) error {
			_, err := f.Deliveries.Recover(t.Context(), "w", noon)
			return err
		},
	} {
		unpriced(t, f, "x/y", noon)
		jobs := take(t, f, "w", 1)
		if len(jobs) != 1 {
			t.Fatalf("%s: got %+v, want one that is due", name, jobs)
		}
		end := webhook.Outcome{
			Job: &jobs[0], State: webhook.Pending, After: time.Hour, Rest: time.Hour,
			Try: webhook.Try{N: 1, At: noon, Status: 503},
		}
		must.Do(t, f.Deliveries.EndTries(t.Context(), []webhook.Outcome{end}))
		if waiting, err := f.Deliveries.WaitingWebhooks(t.Context()); err != nil || len(waiting) > 0 {
			t.Fatalf("%s: while it wants to hear nothing: got %+v, %v", name, waiting, err)
		}
		must.Do(t, by(jobs[0].ID))
		if waiting, err := f.Deliveries.WaitingWebhooks(t.Context()); err != nil || len(waiting) != 1 {
			t.Errorf("%s: got %+v, %v; want it to be sent at once", name, waiting, err)
		}
	}
}
