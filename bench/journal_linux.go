package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// journal measures the cost of metering: the ledger's own benchmark opens and settles attempts from 32 goroutines on
// the gateway's core. Compared with the CPU time of a request it gives the share of the journal, or rather more,
// because it includes building the records.
func (b *bench) journal(ctx context.Context) error {
	s := b.findings.section("journal", "Journal: open and settle one attempt, from 32 goroutines",
		column{figMeter, "µs a request", 2}, column{figShare, "% of a request's CPU", 1})
	if err := b.meter(ctx, s); err != nil {
		return err
	}
	return b.disk(ctx)
}

func (b *bench) meter(ctx context.Context, s *section) error {
	if b.meterTest == "" {
		b.note("the journal was not measured: run bench in the source of the gateway")
		return nil
	}
	cmd := exec.CommandContext(ctx, b.meterTest, "-test.run", "^$", "-test.bench", "^BenchmarkMeter$",
		"-test.benchtime", "500ms", "-test.count", strconv.Itoa(b.plan.meterCount), "-test.timeout", "60s")
	cmd.Dir, cmd.Env = filepath.Join(b.root, "internal", "ledger"), bareEnv(b.dir)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := b.startOn(b.gatewayCore, cmd); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("BenchmarkMeter: %w\n%s", err, out.String())
	}
	found := meterResults(out.String())
	for _, mode := range []string{"batched", "strict"} {
		if len(found[mode]) == 0 {
			b.note("the journal was not measured: there is no BenchmarkMeter/%s", mode)
			continue
		}
		row := s.row(mode).put(figMeter, found[mode]...)
		request := b.findings.find("throughput", onCompletions, figCPU)
		if mode == "batched" && request != nil {
			row.put(figShare, row.Figures[figMeter].Median/request.Median*100)
		}
	}
	return nil
}

var benchLine = regexp.MustCompile(`(?m)^BenchmarkMeter/(\w+)\S*\s+\d+\s+([0-9.]+) ns/op`)

// meterResults parses the output of BenchmarkMeter into microseconds by mode.
func meterResults(text string) map[string][]float64 {
	found := map[string][]float64{}
	for _, m := range benchLine.FindAllStringSubmatch(text, -1) {
		if ns, err := strconv.ParseFloat(m[2], 64); err == nil {
			found[m[1]] = append(found[m[1]], ns/1000)
		}
	}
	return found
}

// disk measures the disk that strict durability writes to.
func (b *bench) disk(ctx context.Context) error {
	f, err := os.Create(filepath.Join(b.dir, "disk"))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	const writes = 200
	var plain, synced durations
	for range writes {
		if err := ctx.Err(); err != nil {
			return err
		}
		start := time.Now()
		if _, err := f.Write(make([]byte, 100)); err != nil {
			return err
		}
		plain = append(plain, time.Since(start))
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			return fmt.Errorf("fdatasync: %w", err)
		}
		synced = append(synced, time.Since(start))
	}
	s := b.findings.section("disk", "Disk: 100 bytes",
		column{figWrite, "write, p50 µs", 1}, column{figSync, "and fdatasync, p50 µs", 0})
	s.row("this one").put(figWrite, plain.spread().P50).put(figSync, synced.spread().P50)
	return nil
}

// busyLoad is the load average above which other processes distort the measurement.
const busyLoad = 0.5

// warnBusy adds a note if other processes used the machine.
func (b *bench) warnBusy() {
	if load, err := strconv.ParseFloat(b.findings.Machine.Load, 64); err == nil && load > busyLoad {
		b.note("other processes used this machine (load average %.2f before the run): "+
			"latencies, above all p99, and rates per second are unreliable; ratios of CPU time are more reliable", load)
	}
}

// describe returns the machine that the run is measured on.
func describe(ctx context.Context, b *bench) machine {
	m := machine{
		Date: time.Now().UTC().Format(time.RFC3339), CPU: "unknown CPU", Cores: runtime.NumCPU(),
		Kernel: lineOf("/proc/sys/kernel/osrelease"), Go: runtime.Version(),
	}
	m.Load, _, _ = strings.Cut(lineOf("/proc/loadavg"), " ")
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if model := modelLine.FindStringSubmatch(string(text)); model != nil {
			m.CPU = model[1]
		}
	}
	for line := range strings.Lines(commandSays(ctx, b.gateway, "version")) {
		m.Gateway += "; " + strings.Join(strings.Fields(line), " ")
	}
	m.Gateway = strings.TrimPrefix(m.Gateway, "; ")
	_, m.Nginx, _ = strings.Cut(commandSays(ctx, "nginx", "-v"), "/")
	return m
}

var modelLine = regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`)

// lineOf returns the first line of a file in /proc.
func lineOf(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// commandSays returns the output of a command, stdout and stderr; empty if it fails.
func commandSays(ctx context.Context, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
