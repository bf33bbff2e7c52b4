//go:build linux

package hostiletest_test

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/must"
)

// reading holds the gateway's resources at one time.
type reading struct {
	descriptors, goroutines int
	resident, peak          int64         // bytes; the peak since the last resetPeak
	heap                    int64         // bytes: the limit of the heap's growth, five times the live bytes at the last garbage collection
	processor               time.Duration // that it has used since its start
	open                    int           // requests in flight and attempts open in the ledger
}

// read reads the gateway's resources from outside, and from its metrics.
func (h *testGateway) read(t *testing.T) (r reading) {
	t.Helper()
	metrics := h.metrics(t)
	r.goroutines, r.heap = int(metrics["go_goroutines"]), int64(metrics["go_memstats_next_gc_bytes"])
	r.open = int(metrics["weir_requests_in_flight"] + metrics["weir_holds_open"])
	all := must.Get(os.ReadDir(h.proc("fd")))(t)
	r.descriptors = len(all)
	r.resident, r.peak = h.memory(t)
	r.processor = h.processor(t)
	return r
}

func (h *testGateway) proc(name string) string {
	return fmt.Sprintf("/proc/%d/%s", h.process.Cmd.Process.Pid, name)
}

// memory reads VmRSS and VmHWM (https://man7.org/linux/man-pages/man5/proc_pid_status.5.html).
func (h *testGateway) memory(t *testing.T) (resident, peak int64) {
	t.Helper()
	text := must.Get(os.ReadFile(h.proc("status")))(t)
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[2] != "kB" {
			continue
		}
		n, _ := strconv.ParseInt(fields[1], 10, 64) // the kernel writes numbers
		switch fields[0] {
		case "VmRSS:":
			resident = n << 10
		case "VmHWM:":
			peak = n << 10
		}
	}
	return resident, peak
}

// processor reads user and system time, in hundredths of a second
// (https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html, fields 14 and 15).
func (h *testGateway) processor(t *testing.T) time.Duration {
	t.Helper()
	text := must.Get(os.ReadFile(h.proc("stat")))(t)
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// resetPeak sets VmHWM to the resident memory (https://man7.org/linux/man-pages/man5/proc_pid_clear_refs.5.html).
func (h *testGateway) resetPeak(t *testing.T) {
	t.Helper()
	must.Do(t, os.WriteFile(h.proc("clear_refs"), []byte("5"), 0))
}

// metrics returns the gateway's metrics without labels.
func (h *testGateway) metrics(t *testing.T) map[string]float64 {
	t.Helper()
	client := http.Client{Transport: h.transport(false), Timeout: strict(20*time.Second, slowPatience)}
	resp, err := client.Get(h.url("/metrics"))
	for again := 1; err != nil && again < strict(1, tries); again++ { // the machine had other work
		resp, err = client.Get(h.url("/metrics"))
	}
	if err != nil {
		t.Fatalf("the gateway's metrics: %v; its output: %s", err, h.process.LastLines())
	}
	defer resp.Body.Close()
	all := map[string]float64{}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			all[name] = n
		}
	}
	return all
}
