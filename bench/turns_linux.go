package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// The gateways that are measured in turns. The base runs twice, and the difference between the two shows the noise.
const (
	onBase      = "base"
	onBaseAgain = "base, a second time"
	onNew       = "new"
)

// restAfter is how long after the last start the memory is measured: gateways return what the start needed.
const restAfter = 10 * time.Second

func turnsCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench turns", flag.ContinueOnError)
	base := fs.String("base", "", "`path` of the build to compare with: a program, or its source")
	gateway := fs.String("gateway", "", "`path` of the build to measure (default: the current source)")
	rounds := fs.Int("rounds", 7, "`number` of rounds of each kind")
	only := fs.String("only", "", "only measure kinds with these `words` in their names")
	rival := fs.String("rival", "", "`command` of another gateway to measure, as in bench run")
	rivalMessages := fs.String("rival-messages", "", "`path` at which it passes /v1/messages to $BENCH_PROVIDER")
	conns := fs.Int("conns", 0, "`number` of connections of whole replies (default 64) and of slow streams (500)")
	shared := fs.Bool("shared", false, "all programs use all cores: for rates as clients see them")
	asJSON := fs.Bool("json", false, "print JSON")
	dir := fs.String("dir", "", "`directory` for temporary data (default the system's)")
	if err := parse(fs, args, stderr); err != nil {
		return err
	}
	if *base == "" || *rounds < 1 || *conns < 0 || *conns > mostConns {
		return fmt.Errorf("%w: --base must name a build to compare with, --rounds must be at least 1, and --conns at "+
			"most %d", errUsage, mostConns)
	}
	b := &bench{
		plan: newPlan(false), gateway: *gateway, rivalCommand: *rival, rivalMessages: *rivalMessages, shared: *shared,
		progress: stderr,
	}
	b.plan.limit = time.Hour
	t := &turns{bench: b, base: *base, rounds: *rounds, only: *only, conns: *conns}
	err := b.all(ctx, *dir, []step{
		{"starting the mock provider", b.startMock},
		{"starting nginx", b.startNginx},
		{"starting the rival", b.startRival},
		{"starting the gateways", t.start},
		{"loading them in turns", t.all},
	})
	return b.report(stdout, *asJSON, err)
}

// turns compares a build with another one.
type turns struct {
	*bench
	base     string // path
	rounds   int
	only     string
	conns    int        // of whole replies and slow streams; 0 for the usual number
	gateways []*subject // the base first
	atRest   []float64  // MB of each
}

// start starts the gateways, and measures their memory when all have been idle for a while.
func (t *turns) start(ctx context.Context) error {
	base, err := t.built(ctx, "base", t.base)
	if err != nil {
		return err
	}
	for i, name := range []string{onBase, onBaseAgain, onNew} {
		program := filepath.Join(t.dir, fmt.Sprintf("program-%d", i))
		from := base
		if name == onNew {
			from = t.gateway
		}
		if err := install(program, from); err != nil {
			return err
		}
		_, s, err := t.startVariant(ctx, fmt.Sprintf("turn-%d", i), settings{gateway: program})
		if err != nil {
			return err
		}
		s.name = name
		t.gateways = append(t.gateways, s)
	}
	if err := pause(ctx, restAfter); err != nil {
		return err
	}
	for _, s := range t.gateways {
		n, err := residentOf(s.pid())
		if err != nil {
			return err
		}
		t.atRest = append(t.atRest, megabytes(n))
	}
	return nil
}

// install copies a program, and has the system read it from the disk when it is started, as after a boot: a program
// that was written at once lies in the page cache in pieces of 2 MB, each of which is resident as soon as one word of
// it is used.
func install(to, from string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o700)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync())
	return errors.Join(err, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED), f.Close())
}

// all measures all kinds, and then the memory.
func (t *turns) all(ctx context.Context) error {
	for _, k := range kinds() {
		if !strings.Contains(k.name, t.only) {
			continue
		}
		switch {
		case t.conns == 0 || k.rate > 0:
		case k.model == wholeModel:
			k.conns = t.conns
		case k.model == slowModel:
			k.slice, k.conns = k.slice*t.conns/k.conns, t.conns
		}
		subjects := slices.Clip(t.gateways)
		if t.nginx != nil && k.nginx {
			subjects = append(subjects, t.nginx)
		}
		if t.rival != nil && k.rival && (!k.vendor || t.rivalMessages != "") {
			subjects = append(subjects, t.rival)
		}
		fmt.Fprintf(t.progress, "bench: %s\n", k.title)
		if err := t.kind(ctx, &k, subjects); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	memory := t.findings.section("memory", "Memory",
		column{figIdle, "MB at rest, 10 s after the start", 1}, column{figFull, "MB after all the load", 1})
	for i, s := range t.gateways {
		if err := s.resident(memory); err != nil {
			return err
		}
		memory.Rows[i].put(figIdle, t.atRest[i])
	}
	return nil
}

// kind measures one kind in all rounds.
func (t *turns) kind(ctx context.Context, k *kind, subjects []*subject) error {
	var all []*contender
	for _, s := range subjects {
		c, err := k.contender(ctx, s)
		if err != nil {
			return err
		}
		defer c.close()
		c.paced.pids = []int{os.Getpid(), s.pid(), t.direct.pid()}
		all = append(all, c)
	}
	for round := range t.rounds {
		if err := k.round(ctx, round, all); err != nil {
			return err
		}
	}
	t.tell(k, all)
	return nil
}

// round loads all contenders in turns, and measures the CPU time of each when it is quiet. The order is another one each
// time: a contender still projects while the next one is loaded, and what follows always the same one pays for it.
func (k *kind) round(ctx context.Context, round int, all []*contender) error {
	for _, c := range all {
		if err := c.watch.mark(); err != nil {
			return err
		}
	}
	for slice := range k.slices {
		for _, i := range rand.New(rand.NewPCG(uint64(round), uint64(slice))).Perm(len(all)) {
			if err := all[i].load(ctx, k.slice, k.rate); err != nil {
				return err
			}
		}
	}
	for _, c := range all {
		if err := c.watch.quiet(ctx); err != nil {
			return err
		}
		c.end()
	}
	return nil
}

// tell adds the table of a kind.
func (t *turns) tell(k *kind, all []*contender) {
	unit, digits := "µs CPU a request", 1
	if k.model != wholeModel {
		unit, digits = "µs CPU a piece", 2
	}
	s := t.findings.section(k.name, k.title,
		column{figCPU, unit, digits}, column{figOfBase, "of base", 3}, column{figRate, "requests/s", 0})
	for _, c := range all {
		row := s.row(c.subject.name).put(figCPU, c.cpu...).put(figRate, c.rate...)
		if c != all[0] {
			row.put(figOfBase, quotients(c.cpu, all[0].cpu)...)
		}
		if n := c.loop.failed; n > 0 {
			t.note("%s: %s had %d failures, and the rounds with them do not count; the last: %s", k.name, c.subject.name,
				n, c.loop.count.failure)
		}
	}
	if k.rate > 0 {
		tellLatency(s, all)
	}
}

func quotients(own, base []float64) (all []float64) {
	for i := range own {
		all = append(all, own[i]/base[i])
	}
	return all
}

// contender is a subject that is loaded in turns, on connections that stay open.
type contender struct {
	subject *subject
	loop    *loop
	clients []*client
	watch   watch
	stop    context.CancelFunc
	took    time.Duration // of its turns in this round

	// By round: µs a request or a piece, requests a second, and µs. A round with failures has no number: what broke off
	// cost processor time without an answer.
	cpu, rate, p50, p99 []float64
	paced               paced
}

func (k *kind) contender(ctx context.Context, s *subject) (*contender, error) {
	o := &loadOptions{
		target: s.target, clientAPI: k.clientAPI, model: k.model, key: s.key, conns: k.conns,
		stream: k.model != wholeModel,
	}
	switch {
	case k.vendor && s.messagesPath != "":
		o.path, o.asked = s.messagesPath, k.model
	case k.vendor:
		o.asked = "vendor/" + k.model
	case o.stream:
		o.path = s.streamPath
	}
	if o.stream {
		var err error
		if o.pieces, _, err = parseShape(k.model); err != nil {
			return nil, err
		}
	}
	first, err := o.prepare()
	if err != nil {
		return nil, err
	}
	ctx, fail := context.WithCancelCause(ctx)
	c := &contender{
		subject: s, watch: watch{pid: s.pid()}, stop: func() { fail(nil) },
		loop: &loop{o: o, first: first, fail: fail, closing: ctx},
	}
	for range k.conns {
		one := *first
		c.clients = append(c.clients, &one)
	}
	err = c.load(ctx, max(k.slice, k.conns), k.rate) // to open the connections
	c.loop.count, c.took = counts{}, 0
	return c, err
}

// afterFailure is how long a client waits after a failure: a gateway that has too little of a processor refuses quickly.
const afterFailure = 200 * time.Millisecond

// flood sends so many requests.
func (c *contender) flood(requests int) {
	var left atomic.Int64
	left.Store(int64(requests))
	for _, client := range c.clients {
		c.loop.clients.Go(func() {
			for c.loop.closing.Err() == nil && left.Add(-1) >= 0 {
				if !c.loop.ask(c.loop.closing, client, time.Now()) {
					_ = pause(c.loop.closing, afterFailure)
				}
			}
		})
	}
	c.loop.clients.Wait()
}

// end records the results of a round.
func (c *contender) end() {
	count := &c.loop.count
	answers, took := float64(count.requests), c.took.Seconds()
	if count.failures > 0 {
		answers, took = math.NaN(), math.NaN()
	} else if c.loop.o.stream {
		answers = float64(count.pieces)
	}
	latency := count.latency.spread()
	c.cpu = append(c.cpu, micros(c.watch.cpu)/answers)
	c.rate = append(c.rate, float64(count.requests)/took)
	c.p50, c.p99 = append(c.p50, latency.P50), append(c.p99, latency.P99)
	c.paced.end(latency.Count)
	*count, c.took = counts{failure: count.failure}, 0
}

func (c *contender) close() {
	c.stop()
	for _, client := range c.clients {
		client.close()
	}
}
