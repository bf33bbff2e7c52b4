//go:build linux

package loadtest_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/must"
)

// closed holds the measurements of a closed loop.
type closed struct {
	Seconds  float64 `json:"seconds"`
	Requests int64   `json:"requests"`
	Failures int64   `json:"failures"`
	Failure  string  `json:"failure"`
}

// spread is a distribution, in microseconds.
type spread struct {
	P50 float64 `json:"p50_us"`
	P99 float64 `json:"p99_us"`
}

// kind counts the outcomes of the requests of one priority.
type kind struct {
	Sent    int64  `json:"sent"`
	OK      int64  `json:"ok"`
	Refused int64  `json:"refused"`
	Failed  int64  `json:"failed"`
	Latency spread `json:"latency"`
}

// success returns the percentage of answered requests.
func (k *kind) success() float64 { return 100 * float64(k.OK) / float64(max(k.Sent, 1)) }

// open holds the measurements of an open loop.
type open struct {
	Seconds     float64 `json:"seconds"`
	Interactive kind    `json:"interactive"`
	Batch       kind    `json:"batch"`
	Refusal     spread  `json:"refusal"`
	Unsaid      int64   `json:"unsaid"`
	LastRefusal float64 `json:"last_refusal_seconds"`
	Failure     string  `json:"failure"`
}

// goodput returns the number of answered requests a second.
func (o *open) goodput() float64 { return float64(o.Interactive.OK+o.Batch.OK) / o.Seconds }

// share is the part of the load that interactive requests are in the mixed
// overload, in capacities; batch requests are the rest of three.
const (
	times = 3.0
	share = 0.75
)

// run is one overload from its beginning to its end.
type run struct {
	peak   float64       // requests a second of the closed loop
	mixed  open          // three times that, most of it batch
	one    open          // three times that, all of it interactive
	after  open          // half of it, from the end of the overload
	probes time.Duration // p99 of the gateway's own endpoints in the overload
	shed   []string      // the metrics of refusals, by reason
}

// form describes one way to be limited.
type form struct {
	settings
	model string
	conns int // of the closed loop
}

// TestOverloadIsRefused overloads a gateway that is limited by max_concurrency, as a gateway with slow providers is.
func TestOverloadIsRefused(t *testing.T) {
	f := form{settings{concurrency: 145}, "w200ms", 128} // the share of a single account is 128
	h := newGateway(t, f.settings)
	defer h.end()
	for try := 1; ; try++ {
		r := h.overload(&f)
		r.tell(t)
		for _, wrong := range append(r.failures(), r.disorder()...) {
			t.Error(wrong)
		}
		late := r.late()
		if !*strictFlag || len(late) == 0 || t.Failed() {
			return
		}
		if try == 3 {
			t.Errorf("three times in a row, the last time: %q", late)
			return
		}
		t.Logf("once more, for the machine may have had something else to do: %q", late)
	}
}

// TestOverloadCPU overloads a gateway with one processor and no other effective limit. Its throughput then depends on
// the cost of a refusal compared with an answer, and on the machine; it is reported and not judged.
func TestOverloadCPU(t *testing.T) {
	if !*strictFlag {
		t.Skip("takes half a minute and judges little: make soak runs it")
	}
	f := form{settings{concurrency: 4096, processors: 1}, "small", 64}
	h := newGateway(t, f.settings)
	defer h.end()
	r := h.overload(&f)
	r.tell(t)
	for _, wrong := range r.failures() {
		t.Log(wrong)
	}
	if r.after.Interactive.Refused > 0 && r.after.LastRefusal > 5 {
		t.Errorf("%.1f s after the overload requests were still refused, want at most 5 s", r.after.LastRefusal)
	}
}

// overload finds the capacity, and sends three times as much, and then half.
func (h *testGateway) overload(f *form) (r run) {
	h.t.Helper()
	var peak closed
	h.load(3*time.Second, &peak, "--conns", strconv.Itoa(f.conns), "--model", f.model)
	if peak.Requests == 0 || peak.Failures > 0 {
		h.t.Fatalf("at its capacity: got %+v, want answers and no failures", peak)
	}
	r.peak = float64(peak.Requests) / peak.Seconds
	flood := func(o *open, d time.Duration, times, batch float64) {
		h.t.Helper()
		h.load(d, o, "--open", "--conns", "4096", "--model", f.model, "--rate", strconv.Itoa(int(times*r.peak)), "--batch", fmt.Sprint(batch))
	}
	r.probes = h.probing(func() {
		flood(&r.mixed, overloadTime(), times, 1-share/times)
		flood(&r.one, overloadTime(), times, 0)
	})
	flood(&r.after, 7*time.Second, 0.5, 0)
	r.shed = h.shed()
	return r
}

// probing returns the p99 of the gateway's own endpoints during do.
func (h *testGateway) probing(do func()) time.Duration {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	defer cancel()
	client := &http.Client{Transport: &http.Transport{}, Timeout: patience}
	defer client.CloseIdleConnections()
	var took []time.Duration
	var all sync.WaitGroup
	all.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			path := []string{"/livez", "/readyz", "/metrics", "/v1/uses"}[i%4]
			began := time.Now()
			if err := h.probe(client, path); err != nil {
				h.t.Errorf("%s in the overload: %v", path, err)
				return
			}
			took = append(took, time.Since(began))
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	do()
	cancel()
	all.Wait()
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[len(took)*99/100]
}

func (h *testGateway) probe(client *http.Client, path string) error {
	r, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, "http://"+h.base+path, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+h.key)
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("got %s, want 200", resp.Status)
	}
	return nil
}

// shed returns the gateway's metrics of refusals.
func (h *testGateway) shed() (told []string) {
	h.t.Helper()
	resp := must.Get(http.Get("http://" + h.base + "/metrics"))(h.t)
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if line := lines.Text(); strings.HasPrefix(line, "weir_shed_total") && !strings.HasSuffix(line, " 0") {
			told = append(told, strings.TrimPrefix(line, "weir_shed_total"))
		}
	}
	http.DefaultClient.CloseIdleConnections()
	return told
}

// failures lists the faults that count on any machine.
func (r *run) failures() (wrong []string) {
	for name, o := range map[string]*open{"mixed": &r.mixed, "all interactive": &r.one, "after": &r.after} {
		if o.Unsaid > 0 {
			wrong = append(wrong, fmt.Sprintf("%s: %d refusals without Retry-After", name, o.Unsaid))
		}
		if failed := o.Interactive.Failed + o.Batch.Failed; failed > 0 {
			wrong = append(wrong, fmt.Sprintf("%s: %d requests failed, the last with %s", name, failed, o.Failure))
		}
	}
	return wrong
}

// disorder reports if batch requests were not refused first, or not at all.
func (r *run) disorder() (wrong []string) {
	if m := &r.mixed; m.Batch.Refused == 0 || m.Batch.success() > m.Interactive.success() {
		wrong = append(wrong, fmt.Sprintf("mixed: %.1f %% of interactive and %.1f %% of batch requests were answered, want batch refused first",
			m.Interactive.success(), m.Batch.success()))
	}
	return wrong
}

// late lists the faults that count only on an idle machine.
func (r *run) late() (wrong []string) {
	expect := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	expect(r.mixed.goodput() >= 0.9*r.peak, "mixed: %.0f answers a second, want at least 90 %% of %.0f", r.mixed.goodput(), r.peak)
	expect(r.one.goodput() >= 0.9*r.peak, "all interactive: %.0f answers a second, want at least 90 %% of %.0f", r.one.goodput(), r.peak)
	expect(r.mixed.Interactive.success() >= 99, "mixed: %.2f %% of interactive requests were answered, want at least 99", r.mixed.Interactive.success())
	expect(r.mixed.Refusal.P99 <= 20_000, "mixed: refusals at p99 took %.1f ms, want at most 20", r.mixed.Refusal.P99/1e3)
	expect(r.one.Refusal.P99 <= 20_000, "all interactive: refusals at p99 took %.1f ms, want at most 20", r.one.Refusal.P99/1e3)
	expect(r.probes <= 100*time.Millisecond, "the gateway's own answers at p99 took %s, want at most 100ms", r.probes)
	expect(r.after.LastRefusal <= 5, "refusals until %.1f s after the overload, want at most 5", r.after.LastRefusal)
	return wrong
}

func (r *run) tell(t *testing.T) {
	t.Helper()
	t.Logf("capacity, closed loop: %.0f a second", r.peak)
	for _, o := range []struct {
		name string
		*open
	}{{"3x, a quarter interactive", &r.mixed}, {"3x, all interactive", &r.one}, {"0.5x afterwards", &r.after}} {
		t.Logf("%s: %.0f answers a second, %.1f %% of capacity; interactive %.2f %% of %d, batch %.2f %% of %d; refusals p50 %.1f ms, p99 %.1f ms; answers p99 %.0f ms; last refusal at %.1f s",
			o.name, o.goodput(), 100*o.goodput()/r.peak, o.Interactive.success(), o.Interactive.Sent, o.Batch.success(), o.Batch.Sent,
			o.Refusal.P50/1e3, o.Refusal.P99/1e3, o.Interactive.Latency.P99/1e3, o.LastRefusal)
	}
	t.Logf("the gateway's own answers in the overload: p99 %s; refused since its start: %q", r.probes, r.shed)
}
