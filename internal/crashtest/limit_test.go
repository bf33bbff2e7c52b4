//go:build unix

package crashtest_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/ratelimit/redistest"
)

const (
	// sharedRPM is the limit of a key in these tests.
	sharedRPM = 120
	window    = time.Minute
	// askEvery is the interval of each client's requests: far above the limit.
	askEvery = 40 * time.Millisecond
)

// admission is an admitted request, with the interval of its admission.
type admission struct{ sent, came time.Time }

// newLimited starts a fleet over a Valkey with shared limits.
func newLimited(ctx context.Context, t *testing.T, bin string) (*fleet, *redistest.Server) {
	t.Helper()
	valkey := redistest.Start(t)
	f := newFleet(ctx, t, &founding{bin: bin, seed: seed(), nodes: 3, server: newServer(t), yaml: raceYAML, valkey: valkey.URL().Reveal()})
	return f, valkey
}

// limited creates a key of a new account with a limit.
func (f *fleet) limited(name string, rpm string) member {
	f.t.Helper()
	return f.newcomer(name, []string{"limits", "--rpm", rpm})
}

// ask has a client of each of the nodes send requests until stop is closed. The returned function returns the
// admissions.
func (f *fleet) ask(m *member, stop <-chan struct{}, nodes ...*node) func() []admission {
	var (
		mu  sync.Mutex
		all []admission
		run sync.WaitGroup
	)
	for _, n := range nodes {
		run.Go(func() {
			tick := time.NewTicker(askEvery)
			defer tick.Stop()
			for {
				select {
				case <-stop:
					return
				case <-tick.C:
				}
				sent := time.Now()
				switch status, answer := f.chat(n.base(), m, plainChat, patience); status {
				case http.StatusOK:
					mu.Lock()
					all = append(all, admission{sent, time.Now()})
					mu.Unlock()
				case http.StatusTooManyRequests:
				default:
					f.t.Errorf("a key with a limit: got %d %s, want 200 or 429", status, answer)
				}
			}
		})
	}
	return func() []admission {
		run.Wait()
		return all
	}
}

// most returns the greatest number of requests that were certainly admitted within one window.
func most(all []admission) (n int) {
	slices.SortFunc(all, func(a, b admission) int { return a.sent.Compare(b.sent) })
	for i := range all {
		in := 0
		for _, a := range all[i:] {
			if a.came.Sub(all[i].sent) <= window {
				in++
			}
		}
		n = max(n, in)
	}
	return n
}

// testLimit checks that three nodes share one limit: never exceeded in any minute, and nearly all of it usable.
func testLimit(ctx context.Context, t *testing.T, bin string) {
	f, _ := newLimited(ctx, t, bin)
	defer f.close()
	m := f.limited("shared", "120")
	stop := make(chan struct{})
	end := f.ask(&m, stop, f.nodes...)
	time.Sleep(theForm().asking)
	close(stop)
	all := end()
	windows := int(theForm().asking / (window + time.Second))
	want := sharedRPM * (windows + 1)
	t.Logf("%d let in within %s at a limit of %d a minute; at most %d in any minute", len(all), theForm().asking, sharedRPM, most(all))
	allowed := sharedRPM
	if alone := f.alone(); alone > 0 { // the machine was too busy for Valkey to answer in time
		t.Logf("%v requests were decided from memory: one limit more is allowed", alone)
		allowed += sharedRPM
	}
	if got := most(all); got > allowed {
		t.Errorf("%d admitted within a minute, want at most %d", got, allowed)
	}
	if len(all) < want*9/10 {
		t.Errorf("%d admitted, want at least nine in ten of %d", len(all), want)
	}
	f.stopAll()
	f.sound()
}

// alone returns the number of requests that the nodes decided without Valkey.
func (f *fleet) alone() (n float64) {
	f.t.Helper()
	for _, one := range f.nodes {
		n += one.metric("weir_ratelimit_alone_total")
	}
	return n
}

// testValkey kills, freezes and empties Valkey under load.
func testValkey(ctx context.Context, t *testing.T, bin string) {
	outages(t)
	f, valkey := newLimited(ctx, t, bin)
	defer f.close()
	steady := f.limited("steady", "1000000")
	for _, c := range []struct {
		name         string
		breaks, ends func()
		silent       bool // the outcome is unknown
	}{
		{name: "killed", breaks: valkey.Kill, ends: valkey.Run},
		{name: "frozen", breaks: valkey.Freeze, ends: valkey.Thaw},
		{name: "flushed", breaks: func() { valkey.Do("FLUSHALL") }, ends: func() {}, silent: true},
	} {
		m := f.limited(c.name, "120")
		stop := make(chan struct{})
		first := f.ask(&m, stop, f.nodes[0])
		before := f.latencies(&steady, theForm().before) // one node has used most of the limit
		c.breaks()
		others := f.ask(&m, stop, f.nodes[1:]...)
		broke := time.Now()
		if !c.silent {
			f.valkeyIs("[-]", 1)
			t.Logf("%s: known on all nodes after %s", c.name, time.Since(broke).Round(time.Millisecond))
			time.Sleep(time.Until(broke.Add(time.Second)))
		}
		during := f.latencies(&steady, theForm().broken)
		c.ends()
		ended := time.Now()
		f.valkeyIs("[+]", 0)
		t.Logf("%s: back on all nodes after %s", c.name, time.Since(ended).Round(time.Millisecond))
		after := f.latencies(&steady, 3*time.Second)
		close(stop)
		got := most(slices.Concat(first(), others()))
		t.Logf("%s: %d let in within a minute at a limit of %d; p99 %s before, %s while it was broken, %s after",
			c.name, got, sharedRPM, p99(before), p99(during), p99(after))
		if got > 2*sharedRPM || got < sharedRPM*9/10 {
			t.Errorf("%s: %d admitted within a minute, want at most %d and one limit more", c.name, got, sharedRPM)
		}
		if added := p99(during) - p99(before); added > theForm().added {
			t.Errorf("%s: p99 rose by %s, want at most %s", c.name, added, theForm().added)
		}
	}
	f.stopAll()
	f.sound()
}

// latencies measures requests of a key without a limit, on all nodes in turn.
func (f *fleet) latencies(m *member, d time.Duration) (all []time.Duration) {
	f.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(theForm().pause) {
		for _, n := range f.nodes {
			began := time.Now()
			if status, answer := f.chat(n.base(), m, plainChat, patience); status != http.StatusOK {
				f.t.Errorf("a key far from its limit: got %d %s, want 200", status, answer)
			}
			all = append(all, time.Since(began))
		}
	}
	return all
}

// p99 returns the 99th percentile.
func p99(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[(len(all)-1)*99/100].Round(10 * time.Microsecond)
}

// valkeyIs waits until every node reports this state of Valkey: two seconds in the long form; the short one may run on
// a busy machine.
func (f *fleet) valkeyIs(mark string, degraded float64) {
	f.t.Helper()
	within := patience
	if *nodesFlag {
		within = 2 * time.Second
	}
	for _, n := range f.nodes {
		f.eventually("/readyz and the metrics say "+mark+" valkey", within, func() bool {
			text, err := n.read("/readyz?verbose")
			return err == nil && strings.Contains(text, mark+" valkey") && strings.HasSuffix(text, "ok\n") && n.metric("weir_ratelimit_degraded") == degraded
		})
	}
}
