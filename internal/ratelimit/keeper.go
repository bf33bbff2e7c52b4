package ratelimit

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// probeEvery is the interval of probes during an outage of Valkey, and checkEvery the interval of checks
	// otherwise, because there may be no requests that would detect an outage.
	probeEvery = 200 * time.Millisecond
	checkEvery = 400 * time.Millisecond
	// patience bounds calls that no request waits for.
	patience = 500 * time.Millisecond
	// renewEvery is how often a node renews the slots that it holds. They expire a minute after the last renewal.
	renewEvery = 15 * time.Second
	// anewAfter is the number of failed probes that lead to a new connection, with the address resolved again.
	anewAfter = 20
)

// run maintains the connection and the counters until ctx ends.
func (v *remote) run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { v.keep(ctx) })
	running.Go(func() { v.send(ctx) })
	running.Wait()
	for v.outbox.len() > 0 && v.tell(context.WithoutCancel(ctx)) { // changes of the last requests
		continue
	}
}

// keep probes Valkey and renews slots.
func (v *remote) keep(ctx context.Context) {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	ticks, missed := 0, 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		ticks++
		open := v.breaker.opened.Load()
		switch {
		case open && v.probe(ctx) == nil && v.answersInTime(ctx):
			v.renew(ctx)
			v.breaker.close(v.now())
			missed = 0
		case open:
			if missed++; missed%anewAfter == 0 {
				v.close()
			}
		case ticks%int(renewEvery/probeEvery) == 0:
			v.renew(ctx)
		case ticks%int(checkEvery/probeEvery) == 0:
			if err := v.probe(ctx); err != nil && ctx.Err() == nil {
				v.breaker.trip(err)
			}
		}
	}
}

// probe makes the same call as a request, on a counter of its own.
func (v *remote) probe(ctx context.Context) error {
	if v.client.Load() == nil {
		if err := v.connect(); err != nil {
			return err
		}
	}
	_, err := v.call(ctx, max(patience, v.timeout), probeScript())
	return err
}

// answersInTime reports whether a call with the timeout of requests succeeds.
func (v *remote) answersInTime(ctx context.Context) bool {
	_, err := v.call(ctx, v.timeout, probeScript())
	return err == nil
}

// probeScript returns a call with a limit that is never reached.
func probeScript() *script {
	const plenty = "1000000000"
	return &script{
		keys: []string{keyPrefix + "w:probe", keyPrefix + "c:probe"},
		args: []string{"r", "", "1", plenty, "0", "0", "0"},
	}
}

// renew renews the held slots, so that they do not expire and are restored on a server that has lost its data.
func (v *remote) renew(ctx context.Context) {
	var slots []change
	v.slots.Lock()
	for member, keys := range v.held {
		for _, key := range keys {
			slots = append(slots, change{key: key, member: member})
		}
	}
	v.slots.Unlock()
	for batch := range slices.Chunk(slots, maxBatch) {
		s := &script{}
		for _, c := range batch {
			s.op(c.key, "h", c.member)
		}
		if _, err := v.call(ctx, max(patience, v.timeout), s); err != nil {
			if ctx.Err() == nil {
				v.breaker.trip(err)
			}
			return
		}
		v.freeAgain(batch)
	}
}

// freeAgain frees slots that were released during the renewal.
func (v *remote) freeAgain(slots []change) {
	v.slots.Lock()
	defer v.slots.Unlock()
	for _, c := range slots {
		if _, held := v.held[c.member]; !held {
			v.outbox.put(c)
		}
	}
}

// send sends waiting changes to Valkey. During an outage they wait, up to maxPending.
func (v *remote) send(ctx context.Context) {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-v.outbox.wake:
		case <-tick.C:
		}
		for !v.breaker.opened.Load() && v.outbox.len() > 0 && ctx.Err() == nil {
			if !v.tell(ctx) {
				break
			}
		}
	}
}

// tell sends one batch, and reports whether that succeeded.
func (v *remote) tell(ctx context.Context) bool {
	s := &script{}
	n := v.outbox.take(maxBatch, s)
	if n == 0 {
		return true
	}
	if _, err := v.call(ctx, max(patience, v.timeout), s); err != nil {
		v.outbox.dropped.Add(int64(n))
		v.breaker.trip(err)
		return false
	}
	return true
}
