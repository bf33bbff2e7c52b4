//go:build linux

package crashtest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/processtest"
)

const (
	soakReadings = 60                     // of the process's resources
	soakOutages  = 20                     // of the provider, between the readings
	soakOutage   = 700 * time.Millisecond // how long one is
	soakRest     = 100 * time.Millisecond // of each client between two requests, on average
	slowReader   = 20 * time.Millisecond  // a slow reader's time for each event
)

// holding holds a process's resources at one time.
type holding struct{ memory, descriptors, goroutines int64 }

func (h holding) String() string {
	return fmt.Sprintf("%d MB resident, %d descriptors, %d goroutines", h.memory>>20, h.descriptors, h.goroutines)
}

// TestSoak runs one life of the gateway under steady load, with clients that leave, clients that read slowly, and a
// provider that restarts now and then. The process's resources must not grow, and the books must agree.
func TestSoak(t *testing.T) {
	if *soakFlag == 0 {
		t.Skip("finds what grows with time: make soak gives it half an hour")
	}
	seed := seed()
	ctx, cancel := deadline(t)
	defer cancel()
	h := bareGateway(ctx, t, seed, build(t))
	defer h.close()
	provider := newRelay(t, h.provider)
	h.configure(configuration(provider.address, filepath.Join(h.dir, "data")))
	h.join("patient", "drain")
	h.join("hasty", "cancel")
	h.join("usual", "default")
	process := h.serve(plan{})
	ready := h.awaitReady(process, h.gate)
	if ready.IsZero() {
		t.Fatalf("the gateway does not start; its output:\n%s", process.LastLines())
	}
	working, rest := context.WithCancel(ctx)
	defer rest()
	load := newLoad(h.members, h.gate)
	load.rest, load.slow = soakRest, slowReader
	load.begin(working, seed)
	held, used := h.soak(process, provider)
	rest()
	receipts := load.end()
	h.gate.shut()
	must.Do(t, process.Stop())
	h.ended(process, gracious, ready)
	all := h.read()
	all.receipts, all.outages = receipts, provider.outages
	v := judge(all)
	t.Logf("seed %d: %s, %.0f requests/s, %.2f of a core, %d outages of the provider\n%s", seed, *soakFlag,
		float64(len(receipts))/soakFlag.Seconds(), used.Seconds()/soakFlag.Seconds(), len(provider.outages), report(all, v))
	flat(t, held)
	for _, f := range v.findings() {
		t.Error(f)
	}
}

// soak reads the process's resources under load, and breaks the provider in between. It also returns the processor time
// of the process.
func (h *testGateway) soak(process *processtest.Process, provider *relay) (held []holding, used time.Duration) {
	h.t.Helper()
	for i := range soakReadings {
		if i%(soakReadings/soakOutages) == 1 {
			must.Do(h.t, provider.restart(soakOutage))
		}
		if process.EndsWithin(*soakFlag / soakReadings) {
			h.t.Fatalf("the gateway ended: %s", process.Said())
		}
		held = append(held, h.holding(process))
	}
	return held, time.Duration(h.metric("process_cpu_seconds_total") * float64(time.Second))
}

// flat fails the test if the last third of the readings is above the first.
func flat(t *testing.T, held []holding) {
	t.Helper()
	third := len(held) / 3
	first, last := median(held[:third]), median(held[len(held)-third:])
	t.Logf("median of the first third: %s; of the last: %s", first, last)
	const more = 20 // descriptors and goroutines, which vary with the load
	if last.memory > first.memory+first.memory/5 || last.descriptors > first.descriptors+more || last.goroutines > first.goroutines+more {
		t.Errorf("the gateway's resources grow: at first %s, at last %s", first, last)
	}
}

// median returns the median of each figure.
func median(held []holding) holding {
	of := func(figure func(*holding) int64) int64 {
		var all []int64
		for i := range held {
			all = append(all, figure(&held[i]))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	return holding{
		memory:      of(func(h *holding) int64 { return h.memory }),
		descriptors: of(func(h *holding) int64 { return h.descriptors }),
		goroutines:  of(func(h *holding) int64 { return h.goroutines }),
	}
}

func (h *testGateway) holding(process *processtest.Process) (now holding) {
	h.t.Helper()
	proc := fmt.Sprintf("/proc/%d/", process.Cmd.Process.Pid)
	now.descriptors = int64(len(must.Get(os.ReadDir(proc + "fd"))(h.t)))
	// https://man7.org/linux/man-pages/man5/proc_pid_statm.5.html: the second is the resident memory, in pages
	pages := strings.Fields(string(must.Get(os.ReadFile(proc + "statm"))(h.t)))
	now.memory = must.Get(strconv.ParseInt(pages[1], 10, 64))(h.t) * int64(os.Getpagesize())
	now.goroutines = int64(h.metric("go_goroutines"))
	return now
}

// metric returns a metric of the gateway.
func (h *testGateway) metric(name string) float64 {
	h.t.Helper()
	return figure(h.t, must.Get(h.readFrom(h.gate.pass(h.ctx), "/metrics"))(h.t), name)
}
