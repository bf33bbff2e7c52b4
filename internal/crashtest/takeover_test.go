//go:build linux

package crashtest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/processtest"
)

const (
	takeoverRate = 100 // whole answers a second
	// takeoverDrain is longer than any stream of the test.
	takeoverDrain  = 15 * time.Second
	takeoverStream = "house/chat:ttft=20ms,pace=100ms,tokens=40" // 4 s
	takeoverWhole  = "house/chat:tokens=3"
)

// TestTakeover replaces a gateway by another process again and again, under load. No request fails, no stream is cut,
// and the ledger is the provider's.
func TestTakeover(t *testing.T) {
	t.Parallel()
	seed := seed()
	ctx, cancel := deadline(t)
	defer cancel()
	h := newGateway(ctx, t, seed)
	defer h.close()
	h.env = append(h.env, "WEIR_DRAIN_TIMEOUT="+takeoverDrain.String())
	h.configure(patientConfiguration(h.provider, filepath.Join(h.dir, "data")))
	process := h.takeOver(nil)
	working, rest := context.WithCancel(ctx)
	defer rest()
	load := h.steady(working, seed)
	var slowest time.Duration
	for range *takeoversFlag {
		began := time.Now()
		process = h.takeOver(process)
		slowest = max(slowest, time.Since(began))
	}
	rest()
	receipts := load.end()
	h.gate.shut()
	must.Do(t, process.Stop())
	h.ended(process, gracious, process.Started)
	all := h.read()
	all.receipts = receipts
	t.Logf("seed %d: %d takeovers, the slowest %s with its drain", seed, *takeoversFlag, slowest.Round(time.Millisecond))
	noneFailed(t, all)
}

// patientConfiguration waits longer for the provider, which may be slow on a busy machine.
func patientConfiguration(provider, data string) string {
	return strings.ReplaceAll(configuration(provider, data), "first_byte: 1s, idle: 500ms", "first_byte: 10s, idle: 10s")
}

// noneFailed judges all books, and fails if an answer did not arrive whole.
func noneFailed(t *testing.T, all *books) {
	t.Helper()
	whole, streams, failed := 0, 0, []string{}
	for i := range all.receipts {
		switch r := &all.receipts[i]; {
		case r.status != http.StatusOK || !r.whole:
			failed = append(failed, r.String())
		case r.stream:
			streams++
		default:
			whole++
		}
	}
	t.Logf("%d whole answers and %d streams, %d failed; %d rows", whole, streams, len(failed), len(all.rows))
	for _, f := range failed[:min(len(failed), mostShown)] {
		t.Error(f)
	}
	for _, f := range judge(all).findings() {
		t.Error(f)
	}
}

// takeOver starts a gateway that replaces another one, or none for nil, and waits until that has ended.
func (h *testGateway) takeOver(from *processtest.Process) *processtest.Process {
	h.t.Helper()
	log := filepath.Join(h.dir, fmt.Sprintf("takeover-%03d.log", len(h.logs)))
	h.logs = append(h.logs, log)
	process := processtest.Start(h.t, h.command("serve", "--listen", "127.0.0.1:0", "--takeover"), log, "listening")
	address := process.AwaitAddress(h.t)
	if from == nil {
		h.gate.open(address)
		return process
	}
	if base := h.gate.pass(h.ctx); address != base {
		h.t.Fatalf("the new gateway is at %s, the one before at %s", address, base)
	}
	if !from.EndsWithin(takeoverDrain + patience) {
		h.t.Fatalf("the replaced gateway does not end; its output:\n%s", from.LastLines())
	}
	if !from.Cmd.ProcessState.Success() {
		h.t.Errorf("the replaced gateway ended with %s; its output:\n%s", from.Cmd.ProcessState, from.LastLines())
	}
	h.ended(from, gracious, from.Started)
	return process
}

// steady puts the gateway under load, which reaches its rate after 2 s, until ctx ends.
func (h *testGateway) steady(ctx context.Context, seed uint64) *load {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: *streamsFlag, DisableCompression: true}}
	l := &load{client: client, members: h.members}
	l.steady(ctx, h.gate, seed, *streamsFlag)
	time.Sleep(2 * time.Second)
	return l
}

// steady requests whole answers at a rate, and holds the given number of streams open, until ctx ends.
func (l *load) steady(ctx context.Context, g *gate, seed uint64, streams int) {
	for i := range streams {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		l.running.Go(func() {
			time.Sleep(time.Duration(rng.Int64N(int64(4 * time.Second)))) // so that they end at different times
			for ctx.Err() == nil {
				l.once(ctx, order{
					gate: g, member: &l.members[0], clientAPI: openaiAPI, model: takeoverStream, stream: true, wantUsage: true, prompt: prompt(rng),
				})
			}
		})
	}
	l.running.Go(func() {
		rng := rand.New(rand.NewPCG(seed, uint64(streams)))
		tick := time.NewTicker(time.Second / takeoverRate)
		defer tick.Stop()
		var asked sync.WaitGroup
		defer asked.Wait()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			o := order{gate: g, member: &l.members[0], clientAPI: openaiAPI, model: takeoverWhole, prompt: prompt(rng)}
			asked.Go(func() { l.once(ctx, o) })
		}
	})
}
