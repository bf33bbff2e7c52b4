package gateway

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// departing simulates streams whose clients disconnect at once.
type departing struct {
	server *Server
	client context.Context
	leave  context.CancelFunc
	all    sync.WaitGroup

	mu      sync.Mutex
	order   []string // accounts of the ended streams
	working int
	most    int // that worked at once
}

func newDeparting(t *testing.T) *departing {
	t.Helper()
	d := &departing{server: &Server{}}
	d.server.stopping, d.server.stop = context.WithCancelCause(t.Context())
	d.server.capacity = newCapacity(1 << 40)
	d.client, d.leave = context.WithCancel(t.Context())
	return d
}

// stream runs a stream until its answer ends, and then works for the given time until it is settled.
func (d *departing) stream(of string, works time.Duration) {
	var u reading
	ctx, cancel := context.WithCancel(context.WithoutCancel(d.client))
	context.AfterFunc(d.client, func() { u.depart(ctx, cancel, d.server, of) })
	d.all.Go(func() {
		<-ctx.Done()
		d.mu.Lock()
		d.working++
		d.order, d.most = append(d.order, of), max(d.most, d.working)
		d.mu.Unlock()
		time.Sleep(works)
		d.mu.Lock()
		d.working--
		d.mu.Unlock()
		u.endDeparture(d.server, of)
	})
}

// place returns the number of streams that ended before the first one of an account; -1 if none of it has.
func (d *departing) place(of string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Index(d.order, of)
}

// end has all clients disconnect, and waits until their streams have ended.
func (d *departing) end(t *testing.T) time.Duration {
	t.Helper()
	synctest.Wait()
	began := time.Now()
	d.leave()
	d.all.Wait()
	took := time.Since(began)
	time.Sleep(departureTime)
	synctest.Wait()
	d.checkIdle(t)
	return took
}

// checkIdle checks that every turn is free.
func (d *departing) checkIdle(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // a turn that is not free now is not waited for
	for i := range departures() {
		if !d.server.capacity.Depart(ctx, "idle") {
			t.Errorf("%d of %d turns are free", i, departures())
			return
		}
	}
	for range departures() {
		d.server.capacity.Departed("idle")
	}
}

// departures returns how many requests may end at a time.
func departures() int { return 8 * runtime.GOMAXPROCS(0) }

// TestDeparturesEndFewAtOnce checks that few of many streams whose clients disconnect at once end at a time, and that
// the accounts alternate.
func TestDeparturesEndFewAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDeparting(t)
		for range 200 {
			d.stream("greedy", time.Millisecond)
		}
		d.stream("modest", time.Millisecond)
		d.end(t)
		if d.most != departures() || len(d.order) != 201 {
			t.Errorf("%d streams ended, %d at once; want 201, %d at once", len(d.order), d.most, departures())
		}
		// It is one of those that have the second turns, which are granted at the same time.
		if at := d.place("modest"); at >= 2*departures() {
			t.Errorf("%d streams ended before the one of another account, want fewer than %d", at, 2*departures())
		}
	})
}

// TestBlockedDepartures has more clients disconnect than have a turn at once, and none of their requests ends: others
// do not wait longer than departureTime.
func TestBlockedDepartures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDeparting(t)
		for range departures() {
			d.stream("blocked", time.Hour)
		}
		d.leave()
		synctest.Wait()
		d.stream("other", 0)
		synctest.Wait()
		if d.place("other") >= 0 {
			t.Error("it has ended before there was a turn for it")
		}
		time.Sleep(departureTime)
		synctest.Wait()
		if d.place("other") < 0 {
			t.Errorf("it has not ended after %s", departureTime)
		}
		d.end(t)
	})
}

// TestDeparturesAtStop checks that no stream waits for its turn when the gateway stops.
func TestDeparturesAtStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDeparting(t)
		for range 4 * departures() {
			d.stream("a", time.Second)
		}
		d.server.Stop()
		if took := d.end(t); took != time.Second {
			t.Errorf("they ended after %s, want %s", took, time.Second)
		}
	})
}
