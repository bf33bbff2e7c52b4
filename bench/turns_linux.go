package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
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

// kind is one measurement that is taken in turns.
type kind struct {
	name, title string
	clientAPI   string
	model       string
	conns       int
	slice       int // requests of one turn
	slices      int // turns in a round
	gateways    bool
}

// kinds returns all kinds. A stream has 50 pieces.
func kinds() []kind {
	const conns = 64
	whole := func(name, title, clientAPI string, gateways bool) kind {
		return kind{
			name: name, title: title, clientAPI: clientAPI, model: wholeModel, conns: conns, slice: 1000, slices: 8,
			gateways: gateways,
		}
	}
	return []kind{
		whole("completions", "Whole completions, passed through", "completions", false),
		whole("chat", "Whole replies of /v1/chat, translated", "chat", true),
		whole("messages", "Whole replies of /v1/messages, translated", "messages", true),
		whole("responses", "Whole replies of /v1/responses, translated, store: false", "responses-unkept", true),
		whole("kept", "Whole replies of /v1/responses, translated and kept", "responses", true),
		{
			"fast-streams", "Streams of 50 pieces without pause, ten connections; CPU a piece",
			"completions", fastModel, 10, 40, 20, false,
		},
		{"translated-streams", "The same at /v1/messages, translated", "messages", fastModel, 10, 40, 20, true},
		{
			"slow-streams", "500 streams of 50 pieces, 10 ms apart; CPU a piece",
			"completions", slowModel, 500, 500, 2, false,
		},
	}
}

func turnsCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench turns", flag.ContinueOnError)
	base := fs.String("base", "", "`path` of the build to compare with: a program, or its source")
	gateway := fs.String("gateway", "", "`path` of the build to measure (default: the current source)")
	rounds := fs.Int("rounds", 7, "`number` of rounds of each kind")
	only := fs.String("only", "", "only measure kinds with these `words` in their names")
	rival := fs.String("rival", "", "`command` of another gateway to measure, as in bench run")
	asJSON := fs.Bool("json", false, "print JSON")
	dir := fs.String("dir", "", "`directory` for temporary data (default the system's)")
	if err := parse(fs, args, stderr); err != nil {
		return err
	}
	if *base == "" || *rounds < 1 {
		return fmt.Errorf("%w: --base must name a build to compare with, and --rounds must be at least 1", errUsage)
	}
	b := &bench{plan: newPlan(false), gateway: *gateway, rivalCommand: *rival, progress: stderr}
	b.plan.limit = time.Hour
	t := &turns{bench: b, base: *base, rounds: *rounds, only: *only}
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
		subjects := t.gateways
		for _, s := range []*subject{t.nginx, t.rival} {
			if s != nil && !k.gateways {
				subjects = append(slices.Clip(subjects), s)
			}
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

// round loads all contenders in turns, starting each turn with another one, and measures the CPU time of each when it
// is quiet.
func (k *kind) round(ctx context.Context, round int, all []*contender) error {
	for _, c := range all {
		if err := c.watch.mark(); err != nil {
			return err
		}
	}
	for slice := range k.slices {
		for i := range all {
			if err := all[(i+slice+round)%len(all)].load(ctx, k.slice); err != nil {
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
		column{figCPU, unit, digits}, column{"of_base", "of base", 3}, column{figRate, "requests/s", 0})
	for _, c := range all {
		row := s.row(c.subject.name).put(figCPU, c.cpu...).put(figRate, c.rate...)
		if c != all[0] {
			var quotients []float64
			for i := range c.cpu {
				quotients = append(quotients, c.cpu[i]/all[0].cpu[i])
			}
			row.put("of_base", quotients...)
		}
		if n := c.loop.failed; n > 0 {
			t.note("%s: %s had %d failures, the last: %s", k.name, c.subject.name, n, c.loop.count.failure)
		}
	}
}

// contender is a subject that is loaded in turns, on connections that stay open.
type contender struct {
	subject *subject
	loop    *loop
	clients []*client
	watch   watch
	stop    context.CancelFunc
	took    time.Duration // of its turns in this round

	cpu, rate []float64 // by round: µs a request or a piece, and requests a second
}

func (k *kind) contender(ctx context.Context, s *subject) (*contender, error) {
	o := &loadOptions{
		target: s.target, clientAPI: k.clientAPI, model: k.model, key: s.key, conns: k.conns,
		stream: k.model != wholeModel,
	}
	if o.stream {
		o.path = s.streamPath
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
	err = c.load(ctx, max(k.slice, k.conns)) // to open the connections
	c.loop.count, c.took = counts{}, 0
	return c, err
}

// load sends requests until so many are answered.
func (c *contender) load(ctx context.Context, requests int) error {
	var left atomic.Int64
	left.Store(int64(requests))
	began := time.Now()
	for _, client := range c.clients {
		c.loop.clients.Go(func() {
			for c.loop.closing.Err() == nil && left.Add(-1) >= 0 {
				c.loop.ask(c.loop.closing, client, time.Now())
			}
		})
	}
	c.loop.clients.Wait()
	c.took += time.Since(began)
	if err := context.Cause(c.loop.closing); err != nil {
		return err
	}
	return ctx.Err()
}

// end records the results of a round.
func (c *contender) end() {
	count := &c.loop.count
	answers := float64(count.requests)
	if c.loop.o.stream {
		answers = float64(count.pieces)
	}
	c.cpu = append(c.cpu, micros(c.watch.cpu)/answers)
	c.rate = append(c.rate, float64(count.requests)/c.took.Seconds())
	*count, c.took = counts{failure: count.failure}, 0
}

func (c *contender) close() {
	c.stop()
	for _, client := range c.clients {
		client.close()
	}
}
