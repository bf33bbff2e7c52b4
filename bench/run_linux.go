package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// plan is the length and the number of the measurements.
type plan struct {
	limit                                                time.Duration // of the whole run, after the build
	rounds, pacedRounds, streamRun, variants, meterCount int
	window, paced, streams                               time.Duration
	held                                                 int // streams
	starts                                               int
	afterLeaving                                         time.Duration // until the memory is measured; 0 skips it
}

func newPlan(short bool) plan {
	if short {
		return plan{
			time.Minute, 1, 1, 1, 1, 1,
			700 * time.Millisecond, 600 * time.Millisecond, 700 * time.Millisecond, 500, 3, 0,
		}
	}
	return plan{
		10 * time.Minute, 5, 3, 3, 3, 3,
		2 * time.Second, 3 * time.Second, 1500 * time.Millisecond, 2000, 5, time.Minute,
	}
}

// The parts of a run, each of which can be run by itself.
const (
	atRest    = "rest: cold starts, idle memory, held streams"
	underLoad = "load: throughput, pace, streams"
	variants  = "variants: other clients, providers and databases"
	journal   = "journal: the journal and the disk"
)

func parts() []string { return []string{atRest, underLoad, variants, journal} }

// bench is one run.
type bench struct {
	only                  string // the part to measure, by its first word; empty for all
	plan                  plan
	self, gateway         string // files of this program and of the gateway
	root                  string // source of both; empty if it is not available
	meterTest             string // the built test of the ledger; empty without source
	dir                   string // temporary
	gatewayCore, loadCore int
	children              []*child
	rivalCommand          string   // starts another gateway; empty for none
	rivalMessages         string   // its path that passes /v1/messages to the provider; empty for none
	shared                bool     // all programs use all cores
	direct, nginx, rival  *subject // nginx and rival are nil if they are not available
	secureMock            *subject // the mock over TLS
	cert, key             string   // files for TLS
	findings              findings
	progress              io.Writer
}

func runCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench run", flag.ContinueOnError)
	gateway := fs.String("gateway", "", "`file` of a gateway that is built already (default: build it)")
	short := fs.Bool("short", false, "about a minute, as a check of the benchmark: the figures are unreliable")
	asJSON := fs.Bool("json", false, "print JSON")
	held := fs.Int("held", 0, "how many streams are held (default 2000)")
	only := fs.String("only", "", "the `part` to measure: rest, load, variants or journal (default all)")
	rival := fs.String("rival", "", "`command` of another gateway to measure: it must listen on $BENCH_LISTEN (its "+
		"port is $BENCH_PORT), send requests for house/MODEL as MODEL to the provider at the base URL "+
		"$BENCH_PROVIDER, and accept the key $BENCH_RIVAL_KEY")
	dir := fs.String("dir", "",
		"`directory` for temporary data, on the disk to measure strict durability with (default the system's)")
	if err := parse(fs, args, stderr); err != nil {
		return err
	}
	if *only != "" && !slices.ContainsFunc(parts(), func(p string) bool { return strings.HasPrefix(p, *only+":") }) {
		return fmt.Errorf("%w: --only is %q, not rest, load, variants or journal", errUsage, *only)
	}
	b := &bench{only: *only, plan: newPlan(*short), gateway: *gateway, rivalCommand: *rival, progress: stderr}
	if *held > 0 {
		b.plan.held = *held
	}
	err := b.all(ctx, *dir, []step{
		{"starting the mock provider", b.startMock},
		{"starting nginx", b.startNginx},
		{"starting the rival", b.startRival},
		{atRest, b.atRest},
		{underLoad, b.underLoad},
		{variants, b.variants},
		{journal, b.journal},
	})
	if err == nil && b.only == "" {
		b.findings.judge()
	}
	return b.report(stdout, *asJSON, err)
}

// report writes the findings, even if an error ended the run.
func (b *bench) report(w io.Writer, asJSON bool, err error) error {
	switch {
	case len(b.findings.Sections) == 0:
		return err
	case asJSON:
		return errors.Join(err, b.findings.writeJSON(w))
	}
	return errors.Join(err, b.findings.writeText(w))
}

// step is a step of a run.
type step struct {
	name string
	run  func(context.Context) error
}

// all runs all steps and cleans up.
func (b *bench) all(ctx context.Context, parent string, steps []step) (err error) {
	if b.dir, err = os.MkdirTemp(parent, "weir-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if err := b.prepare(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, b.plan.limit, fmt.Errorf("the run took over %s", b.plan.limit))
	defer cancel()
	defer b.stopAll()
	began := time.Now()
	for _, step := range steps {
		if b.only != "" && slices.Contains(parts(), step.name) && !strings.HasPrefix(step.name, b.only) {
			continue
		}
		fmt.Fprintf(b.progress, "bench: %3.0f s: %s\n", time.Since(began).Seconds(), step.name)
		err := step.run(ctx)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	fmt.Fprintf(b.progress, "bench: %3.0f s: done\n", time.Since(began).Seconds())
	return nil
}

func (b *bench) note(format string, args ...any) {
	b.findings.Notes = append(b.findings.Notes, fmt.Sprintf(format, args...))
}

// prepare builds the missing programs and pins this process to the load's core.
func (b *bench) prepare(ctx context.Context) (err error) {
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if err := b.build(ctx); err != nil {
		return err
	}
	cores, err := allowedCores()
	if err != nil {
		return err
	}
	b.gatewayCore, b.loadCore = cores[0], cores[min(1, len(cores)-1)]
	if b.shared {
		b.gatewayCore, b.loadCore = allCores, allCores
	}
	if len(cores) == 1 {
		b.note("there is only one core: the gateway shares it with the load, so only CPU times are meaningful")
	}
	if err := b.raiseFiles(); err != nil {
		return err
	}
	b.findings.Machine = describe(ctx, b)
	b.warnBusy()
	return pinSelf(b.loadCore)
}

// build builds the gateway as a release does, and the ledger's benchmark.
func (b *bench) build(ctx context.Context) error {
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if path := strings.TrimSpace(string(mod)); err == nil && path != "" && path != os.DevNull {
		b.root = filepath.Dir(path)
	}
	if b.root == "" && b.gateway == "" {
		return errors.New("run bench in the source of the gateway, or name a built one: --gateway FILE")
	}
	fmt.Fprintln(b.progress, "bench: building")
	if b.root != "" {
		b.meterTest = filepath.Join(b.dir, "ledger.test")
		if err := b.goTool(ctx, b.root, "test", "-c", "-o", b.meterTest, "./internal/ledger"); err != nil {
			return err
		}
	}
	if b.gateway == "" {
		b.gateway = b.root
	}
	b.gateway, err = b.built(ctx, "weir", b.gateway)
	return err
}

// built returns the file of a gateway: path itself, or, if path is a source directory, a program of that name that it
// builds.
func (b *bench) built(ctx context.Context, name, path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return path, err
	}
	file := filepath.Join(b.dir, name)
	return file, b.goTool(ctx, path, "build", "-trimpath", "-ldflags", "-s -w", "-o", file, "./cmd/weir")
}

func (b *bench) goTool(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", args[0], err, out)
	}
	return nil
}

// raiseFiles raises the limit of open files to the system's maximum, and reduces the number of held streams to it.
func (b *bench) raiseFiles() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("the limit of open files: %w", err)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("the limit of open files: %w", err)
	}
	const spare, perStream = 200, 2 // a gateway has two sockets for each stream
	if most := int((min(limit.Max, 1<<20) - min(limit.Max, spare)) / perStream); most < b.plan.held {
		b.note("the system allows %d open files: %d streams are held, not %d", limit.Max, most, b.plan.held)
		b.plan.held = most
	}
	return nil
}
