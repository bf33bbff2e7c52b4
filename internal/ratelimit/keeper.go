package ratelimit

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// probeEvery is how often a Valkey that is away is asked whether it is back,
	// and checkEvery how often one that is there is asked whether it still is,
	// for it may be that nobody else asks.
	probeEvery = 200 * time.Millisecond
	checkEvery = 400 * time.Millisecond
	// patience is how long what no request waits for may take.
	patience = 500 * time.Millisecond
	// renewEvery is how often a node says which slots it holds. They are free a
	// minute after it said so last.
	renewEvery = 15 * time.Second
	// anewAfter is after how many probes in vain another connection is made, by
	// the address as it resolves then.
	anewAfter = 20
)

// run keeps in touch until ctx ends.
func (v *remote) run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { v.keep(ctx) })
	running.Go(func() { v.send(ctx) })
	running.Wait()
	for v.outbox.len() > 0 && v.tell(context.WithoutCancel(ctx)) { // what the last requests left
		continue
	}
}

// keep probes and renews.
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

// probe does once what a request does, on a counter of its own.
func (v *remote) probe(ctx context.Context) error {
	if v.client.Load() == nil {
		if err := v.connect(); err != nil {
			return err
		}
	}
	_, err := v.call(ctx, max(patience, v.timeout), probeScript())
	return err
}

// answersInTime says whether requests would get their answers.
func (v *remote) answersInTime(ctx context.Context) bool {
	_, err := v.call(ctx, v.timeout, probeScript())
	return err == nil
}

// probeScript takes of a limit that nobody comes to.
func probeScript() *script {
	const plenty = "1000000000"
	return &script{
		keys: []string{keyPrefix + "w:probe", keyPrefix + "c:probe"},
		args: []string{"r", "", "1", plenty, "0", "0", "0"},
	}
}

// renew says which slots are held, so that they are not taken to be free, nor
// forgotten by a server that has lost its data.
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

// freeAgain frees those slots that were given back while it was said that they
// are held.
func (v *remote) freeAgain(slots []change) {
	v.slots.Lock()
	defer v.slots.Unlock()
	for _, c := range slots {
		if _, held := v.held[c.member]; !held {
			v.outbox.put(c)
		}
	}
}

// send tells Valkey what waits to be told, unless it is away: then that waits
// too, as far as there is room.
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

// tell tells one batch, and says whether it was heard.
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
