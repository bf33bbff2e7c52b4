package faults_test

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/e2e/harness"
	"weir/internal/worktest"
)

// outage is a provider that answers with an error while its status is set.
type outage struct {
	status     atomic.Int64 // 0 for none
	retryAfter atomic.Int64 // seconds; 0 for no header
	attempts   atomic.Int64
}

func (o *outage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	o.attempts.Add(1)
	w.Header().Set("Content-Type", "application/json")
	if status := o.status.Load(); status != 0 {
		if s := o.retryAfter.Load(); s != 0 {
			w.Header().Set("Retry-After", fmt.Sprint(s))
		}
		w.WriteHeader(int(status))
		return
	}
	_, _ = io.WriteString(w, harness.Answered(harness.Thousand))
}

var stormSpeed = flag.Int("storm.speed", 30, "how many times as fast the gateway's clock runs")

// TestRetryStorm has a provider fail for a minute of the gateway's clock, which advances with the requests: retries are
// at most a tenth of the requests, and all traffic is back within half a minute after the recovery.
func TestRetryStorm(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		status     int64
		retryAfter int64
		targets    string
	}{
		{"500", 500, 0, ""},
		{"529", 529, 0, ""},
		{"429", 429, 0, ""},
		{"429 with Retry-After", 429, 1, ""},
		{"500, with a fallback", 500, 0, `["sick/m", "well/m"]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.status == http.StatusTooManyRequests || test.status == 529 {
				worktest.NotRaced(t) // the same goroutines as after 500
			}
			t.Parallel()
			sick, well := &outage{}, &outage{}
			first, second := httptest.NewServer(sick), httptest.NewServer(well)
			t.Cleanup(first.Close)
			t.Cleanup(second.Close)
			targets := test.targets
			if targets == "" {
				targets = `["sick/m"]`
			}
			clock := &stormClock{began: time.Now()}
			yaml := "providers:" + harness.ProviderYAML("sick", first.URL) + harness.ProviderYAML("well", second.URL) + "aliases:\n  model: {targets: " + targets + "}\n"
			h := harness.Open(t, harness.Setup{
				YAML: strings.ReplaceAll(yaml, "retries: 0", "retries: 2"),
				Now:  clock.now,
			})
			sick.status.Store(test.status)
			sick.retryAfter.Store(test.retryAfter)
			requests := flood(h, clock, time.Minute)
			ratio := float64(sick.attempts.Load()) / float64(requests)
			t.Logf("%d attempts of %d requests: %.3f", sick.attempts.Load(), requests, ratio)
			retries := sick.attempts.Load() - requests
			if most := requests/10 + 3; retries > most { // three are always allowed
				t.Errorf("%d attempts of %d requests: %.3f, want at most %d retries", sick.attempts.Load(), requests, ratio, most)
			}
			sick.status.Store(0)
			clock.pass(time.Minute / 2)
			flood(h, clock, time.Minute/30) // by any request that probes
			before, tolerated := sick.attempts.Load(), int64(0)
			requests = flood(h, clock, time.Minute/4)
			if *stormSpeed > 1 {
				tolerated = requests / 3 // the machine is not faster with the clock: a probe takes long in its time
			}
			if got := sick.attempts.Load() - before; got < requests-tolerated {
				t.Errorf("half a minute after it is well it got %d of %d requests", got, requests)
			}
		})
	}
}

// stormClock is advanced by the test, so that no minute is shorter on a slow machine.
type stormClock struct {
	began  time.Time
	passed atomic.Int64 // nanoseconds
}

func (c *stormClock) now() time.Time { return c.began.Add(time.Duration(c.passed.Load())) }

func (c *stormClock) pass(d time.Duration) { c.passed.Add(int64(d)) }

// flood sends requests steadily for a duration of that clock, and returns their number. The clock waits while many of
// them are in flight.
func flood(h *harness.Gateway, clock *stormClock, d time.Duration) (requests int64) {
	const tick = 5 * time.Millisecond
	step := tick * time.Duration(*stormSpeed)
	room := make(chan struct{}, 16)
	var running sync.WaitGroup
	every := time.NewTicker(tick)
	defer every.Stop()
	for end := clock.now().Add(d); clock.now().Before(end); <-every.C {
		room <- struct{}{}
		requests++
		running.Go(func() {
			h.Chat("model")
			<-room
		})
		clock.pass(step)
	}
	running.Wait()
	return requests
}
