package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"weir/internal/must"
	"weir/internal/seal"
)

// crowd is an outbox of many endpoints that always have something due.
type crowd struct {
	waiting []Waiting
	broken  string // the endpoint whose deliveries cannot be taken
}

func (c crowd) WaitingWebhooks(context.Context) ([]Waiting, error) {
	return append([]Waiting(nil), c.waiting...), nil
}

func (c crowd) TakeDeliveries(_ context.Context, webhook string, n int) ([]Job, error) {
	if webhook == c.broken {
		return nil, errors.New("broken")
	}
	jobs := make([]Job, n)
	for i := range jobs {
		jobs[i].Webhook = webhook
	}
	return jobs, nil
}

func (c crowd) EndTries(context.Context, []Outcome) error { return nil }

// TestEndpointsTakeTurns fills all slots with slow endpoints, and ends one try after the other: each waiting endpoint
// has a turn before others have a second one.
func TestEndpointsTakeTurns(t *testing.T) {
	t.Parallel()
	var c crowd
	const endpoints = 3 * slots / perEndpoint
	for i := range endpoints {
		c.waiting = append(c.waiting, Waiting{Webhook: fmt.Sprintf("w%04d", i)})
	}
	d := NewDeliverer(DelivererOptions{Outbox: c, Log: slog.New(slog.DiscardHandler)})
	var running []*Job
	turns := map[string]int{}
	begin := func(j *Job) {
		running = append(running, j)
		turns[j.Webhook]++
	}
	d.take(t.Context(), begin)
	if len(running) != slots {
		t.Fatalf("got %d tries at once, want %d", len(running), slots)
	}
	for range endpoints {
		d.note(Outcome{Job: running[0], State: Delivered})
		running = running[1:]
		d.take(t.Context(), begin)
	}
	for _, w := range c.waiting {
		if turns[w.Webhook] == 0 {
			t.Fatalf("%s never had a turn, and w0000 had %d", w.Webhook, turns["w0000"])
		}
	}
}

// TestBrokenEndpoint checks that an endpoint whose deliveries cannot be taken does not block the others.
func TestBrokenEndpoint(t *testing.T) {
	t.Parallel()
	c := crowd{waiting: []Waiting{{Webhook: "w0"}, {Webhook: "w1"}, {Webhook: "w2"}}, broken: "w1"}
	d := NewDeliverer(DelivererOptions{Outbox: c, Log: slog.New(slog.DiscardHandler)})
	turns := map[string]int{}
	for range 4 {
		d.take(t.Context(), func(j *Job) { turns[j.Webhook]++ })
	}
	if turns["w0"] == 0 || turns["w2"] == 0 {
		t.Errorf("took %v, want some of w0 and of w2", turns)
	}
}

// TestNodeWithoutKeyLeavesDeliveries checks that a node that cannot decrypt the secrets leaves the deliveries to the
// others, and neither takes them over and over nor fills its log.
func TestNodeWithoutKeyLeavesDeliveries(t *testing.T) {
	t.Parallel()
	ring := must.Get(seal.NewRing(func() ([]seal.Key, error) { return nil, nil }))(t)
	c := crowd{waiting: []Waiting{{Webhook: "w0"}, {Webhook: "w1"}}}
	d := NewDeliverer(DelivererOptions{Outbox: c, Ring: ring, Log: slog.New(slog.DiscardHandler)})
	tried := 0
	for range 10 {
		var jobs []*Job
		d.take(t.Context(), func(j *Job) { jobs = append(jobs, j) })
		for _, j := range jobs {
			tried++
			j.Secrets = []string{"v1.lost.AAAA.AAAA"}
			o := d.try(t.Context(), j)
			if !o.Undone || o.After > 2*lookEvery {
				t.Errorf("got %+v, want it released for others to take soon", o)
			}
			d.note(o)
		}
	}
	if want := len(c.waiting) * perEndpoint; tried != want {
		t.Errorf("took %d deliveries, want %d: those of the first attempt", tried, want)
	}
}
