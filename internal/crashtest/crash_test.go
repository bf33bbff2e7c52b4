//go:build unix

package crashtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/must"
)

const (
	// quiet bounds the time in which the provider ends its requests.
	quiet = 15 * time.Second
	// cleanUp is the rest of the test's time at the end of the load.
	cleanUp = 30 * time.Second
)

// TestCrash kills the gateway again and again under load and joins all books.
func TestCrash(t *testing.T) {
	n, seed := *killsFlag, seed()
	ctx, cancel := deadline(t)
	defer cancel()
	h := newGateway(ctx, t, seed)
	defer h.close()
	all := h.crash(seed, plans(n, h.rng))
	v := judge(all)
	t.Logf("seed %d\n%s", seed, report(all, v))
	for _, f := range v.findings() {
		t.Error(f)
	}
	for _, missing := range unprovoked(all, v, n) {
		t.Errorf("the load did not have its expected effects: %s", missing)
	}
}

// TestCrashFindsLoss silently loses every 7th write of the journal. The same checks must find lost attempts.
func TestCrashFindsLoss(t *testing.T) {
	seed := seed()
	ctx, cancel := deadline(t)
	defer cancel()
	h := newGateway(ctx, t, seed)
	defer h.close()
	h.constant = "journal.skip_write:7"
	all := h.crash(seed, []plan{{kind: atMoment, after: time.Second}})
	v := judge(all)
	t.Logf("with every 7th write of the journal lost:\n%s", report(all, v))
	if got := v.count(lost); got == 0 {
		t.Errorf("with every 7th write of the journal lost: got %d attempts lost, want some", got)
	}
}

// deadline returns a context that leaves the time to clean up.
func deadline(t *testing.T) (context.Context, context.CancelFunc) {
	at, ok := t.Deadline()
	if !ok {
		return context.WithCancel(t.Context())
	}
	return context.WithDeadline(t.Context(), at.Add(-cleanUp))
}

// crash lives through the plans under load, and then reads all books.
func (h *testGateway) crash(seed uint64, plans []plan) *books {
	h.t.Helper()
	working, rest := context.WithCancel(h.ctx)
	defer rest()
	load := newLoad(h.members, h.gate)
	load.begin(working, seed)
	for _, p := range plans {
		h.live(p)
	}
	rest()
	receipts := load.end()
	all := h.read()
	all.receipts = receipts
	return all
}

// read lives one life without load, which closes the books of the one before, and reads them.
func (h *testGateway) read() *books {
	h.t.Helper()
	h.awaitQuiet()
	process := h.serve(plan{})
	at := h.awaitReady(process, h.gate)
	if at.IsZero() {
		h.t.Fatalf("the gateway does not start for the last time; its output:\n%s", process.LastLines())
	}
	all := &books{}
	h.readUses(all)
	h.gate.shut()
	if err := process.Stop(); err != nil {
		h.t.Errorf("last stop: %v", err)
	}
	all.lives = append(h.lives, life{plan: plan{kind: gracious}, began: process.Started, ready: at, ended: process.Ended, killed: wasKilled(process)})
	all.rows = h.exported()
	var err error
	must.Do(h.t, h.get("http://"+h.provider+"/ledger", nil, &all.served))
	if all.prices, err = prices(); err != nil {
		h.t.Fatal(err)
	}
	all.verified, all.logged = h.verify(h.command("ledger", "verify", "--json")), h.complaints()
	return all
}

// exported exports the gateway's ledger; flags may name another data directory.
func (h *testGateway) exported(flags ...string) []row {
	h.t.Helper()
	args := append([]string{"ledger", "export", "--format", "csv"}, flags...)
	rows, err := readRows(bytes.NewReader(h.run(args...)))
	if err != nil {
		h.t.Fatalf("weir ledger export: %v", err)
	}
	return rows
}

// awaitQuiet waits until the provider has no requests in flight.
func (h *testGateway) awaitQuiet() {
	h.t.Helper()
	for end := time.Now().Add(quiet); ; time.Sleep(50 * time.Millisecond) {
		var totals struct{ Outcomes map[string]int64 }
		must.Do(h.t, h.get("http://"+h.provider+"/ledger/totals", nil, &totals))
		if totals.Outcomes["open"] == 0 {
			return
		}
		if time.Now().After(end) {
			h.t.Fatalf("the provider still has %d requests in flight after %s", totals.Outcomes["open"], quiet)
		}
	}
}

// readUses requests each account's usage over HTTP.
func (h *testGateway) readUses(into *books) {
	h.t.Helper()
	seen := map[string]bool{}
	for _, m := range h.members {
		if seen[m.account] {
			continue
		}
		seen[m.account] = true
		var page struct {
			Data  []use
			Total struct{ Requests int64 }
		}
		header := http.Header{"Authorization": {"Bearer " + m.token}}
		must.Do(h.t, h.get("http://"+h.gate.pass(h.ctx)+"/v1/uses?limit=1000", header, &page))
		for _, u := range page.Data {
			u.account = m.account
			into.uses = append(into.uses, u)
		}
		into.totals = append(into.totals, page.Total.Requests)
	}
}

// verify runs "weir ledger verify", which exits with code 1 if there are differences. A record that is set aside is one.
func (h *testGateway) verify(cmd *exec.Cmd) (v verification) {
	h.t.Helper()
	out, err := cmd.Output()
	if jsonErr := json.Unmarshal(out, &v); jsonErr != nil {
		h.t.Fatalf("weir ledger verify: %v, %v: %s", err, jsonErr, out)
	}
	v.Differences = append(v.Differences, v.SetAside...)
	if clean := len(v.Differences) == 0 && v.Gap == 0 && v.Unprojected == 0; clean != (err == nil) {
		h.t.Errorf("weir ledger verify: got %v with %d differences, a gap of %d bytes and %d records that are not projected, want exit code 1 exactly where there are any",
			err, len(v.Differences), v.Gap, v.Unprojected)
	}
	return v
}

// complaints returns the errors in the gateway's log, except for those of single requests, and every panic.
func (h *testGateway) complaints() (all []string) {
	h.t.Helper()
	for _, name := range h.logs {
		text := must.Get(os.ReadFile(name))(h.t)
		for line := range strings.Lines(string(text)) {
			failed := strings.Contains(line, `"level":"ERROR"`) && !strings.Contains(line, `"msg":"request failed"`)
			if failed || isCrash(line) {
				all = append(all, fmt.Sprintf("%s: %.400s", filepath.Base(name), line))
			}
		}
	}
	return all
}

// isCrash reports whether a line of the log is the end of its process.
func isCrash(line string) bool {
	return strings.Contains(line, "panic: ") || strings.HasPrefix(line, "weir: ")
}
