package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// atRest measures what a gateway costs before there is work: each on a process
// that has just started.
func (b *bench) atRest(ctx context.Context) error {
	s, err := b.newSite("batched", settings{})
	if err != nil {
		return err
	}
	c, empty, err := b.startSite(ctx, s)
	if err != nil {
		return err
	}
	if err := b.createKey(ctx, s); err != nil {
		return err
	}
	c.stop()
	var starts []float64
	for range b.plan.starts {
		c, took, err := b.startSite(ctx, s)
		if err != nil {
			return err
		}
		starts = append(starts, millis(took))
		c.stop()
	}
	b.findings.add(coldSection(millis(empty), starts))
	return b.heldStreams(ctx, s)
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// idleAfter is when memory at rest is read.
const idleAfter = 2 * time.Second

// heldStreams measures the memory of many slow streams. The gateway starts anew
// for each client API.
func (b *bench) heldStreams(ctx context.Context, s *site) error {
	held := heldSection(b.plan.held)
	if b.nginx != nil {
		if err := b.hold(ctx, held, b.nginx); err != nil {
			return err
		}
	}
	for _, clientAPI := range []string{"completions", "chat"} {
		c, _, err := b.startSite(ctx, s)
		if err != nil {
			return err
		}
		if err := pause(ctx, idleAfter); err != nil {
			return err
		}
		if err := b.hold(ctx, held, s.subject(apiName(clientAPI), clientAPI, c)); err != nil {
			return err
		}
		c.stop()
	}
	b.findings.add(held)
	return nil
}

func apiName(clientAPI string) string {
	if clientAPI == "chat" {
		return onChat
	}
	return onCompletions
}

func (b *bench) hold(ctx context.Context, held *section, s *subject) error {
	ramp := time.Duration(b.plan.held) * time.Second / 2000
	args := []string{"--conns", fmt.Sprint(b.plan.held), "--ramp", ramp.String(), "--warm", "1s", "--duration", "1s"}
	r, err := b.load(ctx, s, append(args, b.streamArgs(s, heldModel)...)...)
	if err != nil {
		return err
	}
	b.trouble(s, r)
	if r.Open < b.plan.held {
		b.note("%s held %d streams of %d", s.name, r.Open, b.plan.held)
	}
	if r.Open == 0 {
		return errors.New("no stream was held")
	}
	held.row(s.name).put(figIdle, megabytes(r.RSSBefore)).put(figFull, megabytes(r.RSSAfter)).
		put(figPerStream, float64(r.RSSAfter-r.RSSBefore)/1024/float64(r.Open))
	return nil
}

func megabytes(n int64) float64 { return float64(n) / (1 << 20) }

func (b *bench) streamArgs(s *subject, model string) []string {
	args := []string{"--stream", "--model", model}
	if s.streamPath != "" {
		args = append(args, "--path", s.streamPath)
	}
	return args
}

// trouble notes failures: a figure that has any is no figure.
func (b *bench) trouble(s *subject, r *loadResult) {
	if r.Failures > 0 {
		b.note("%s had %d failures, the last: %s", s.name, r.Failures, r.Failure)
	}
}

// underLoad measures what a request costs, the subjects in turns.
func (b *bench) underLoad(ctx context.Context) error {
	batched, err := b.newSite("loaded", settings{})
	if err != nil {
		return err
	}
	strict, err := b.newSite("strict", settings{durability: "strict"})
	if err != nil {
		return err
	}
	c, err := b.startKeyed(ctx, batched)
	if err != nil {
		return err
	}
	cs, err := b.startKeyed(ctx, strict)
	if err != nil {
		return err
	}
	clientAPIs := []*subject{batched.subject(onCompletions, "completions", c), batched.subject(onChat, "chat", c)}
	all := append(slices.Clone(clientAPIs), strict.subject(onStrict, "completions", cs))
	if err := b.throughput(ctx, b.subjects(all)); err != nil {
		return err
	}
	if err := b.pace(ctx, b.subjects(all)); err != nil {
		return err
	}
	cs.stop()
	if err := b.streaming(ctx, b.subjects(clientAPIs)); err != nil {
		return err
	}
	return b.memoryAfter(b.subjects(clientAPIs[:1]))
}

func (b *bench) startKeyed(ctx context.Context, s *site) (*child, error) {
	c, _, err := b.startSite(ctx, s)
	if err != nil {
		return nil, err
	}
	return c, b.createKey(ctx, s)
}

// subjects are what the gateway is measured beside, and its client APIs.
func (b *bench) subjects(clientAPIs []*subject) []*subject {
	all := []*subject{b.direct}
	if b.nginx != nil {
		all = append(all, b.nginx)
	}
	if b.rival != nil {
		all = append(all, b.rival)
	}
	return append(all, clientAPIs...)
}

// turns is what each subject measured in each round.
type turns struct {
	subjects []*subject
	results  [][]*loadResult
}

// take loads all subjects in turns, each round beginning with another one, so
// that what disturbs the machine disturbs them all.
func (b *bench) take(ctx context.Context, rounds int, subjects []*subject, args func(*subject) []string) (*turns, error) {
	t := &turns{subjects: subjects, results: make([][]*loadResult, len(subjects))}
	for round := range rounds {
		for i := range subjects {
			i := (i + round) % len(subjects)
			r, err := b.load(ctx, subjects[i], args(subjects[i])...)
			if err != nil {
				return nil, err
			}
			b.trouble(subjects[i], r)
			t.results[i] = append(t.results[i], r)
		}
	}
	return t, nil
}

// values are one figure of one subject, round after round.
func (t *turns) values(i int, figure func(*loadResult) float64) []float64 {
	values := make([]float64, 0, len(t.results[i]))
	for _, r := range t.results[i] {
		values = append(values, figure(r))
	}
	return values
}

// beside are the values of a subject joined to nginx's of the same round; none
// without nginx, and none for what is not the gateway.
func (t *turns) beside(i int, figure func(*loadResult) float64, join func(own, nginx float64) float64) []float64 {
	n := slices.IndexFunc(t.subjects, func(s *subject) bool { return s.name == onNginx })
	if n < 0 || n >= i {
		return nil
	}
	own, nginx := t.values(i, figure), t.values(n, figure)
	for r := range own {
		own[r] = join(own[r], nginx[r])
	}
	return own
}

func (b *bench) throughput(ctx context.Context, subjects []*subject) error {
	t, err := b.take(ctx, b.plan.rounds, subjects, func(*subject) []string {
		return []string{"--conns", "64", "--duration", b.plan.window.String()}
	})
	if err != nil {
		return err
	}
	b.findings.add(throughputSection(t))
	return nil
}

func (b *bench) pace(ctx context.Context, subjects []*subject) error {
	t, err := b.take(ctx, b.plan.pacedRounds, subjects, func(*subject) []string {
		return []string{"--rate", "200", "--duration", b.plan.paced.String()}
	})
	if err != nil {
		return err
	}
	b.findings.add(paceSection(t))
	return nil
}

func (b *bench) streaming(ctx context.Context, subjects []*subject) error {
	fast, err := b.take(ctx, b.plan.streamRun, subjects, func(s *subject) []string {
		return append([]string{"--conns", "16", "--duration", b.plan.streams.String()}, b.streamArgs(s, fastModel)...)
	})
	if err != nil {
		return err
	}
	slow, err := b.take(ctx, b.plan.streamRun, subjects, func(s *subject) []string {
		args := []string{"--conns", "500", "--ramp", "500ms", "--warm", "300ms", "--duration", b.plan.streams.String()}
		return append(args, b.streamArgs(s, slowModel)...)
	})
	b.findings.add(streamSection("streams_fast", "Streams: 50 pieces without delay, 16 connections", fast))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil { // a slow machine is overloaded by them
		b.note("not measured: streams with 10 ms between pieces: %v", err)
		return nil
	}
	b.findings.add(streamSection("streams_slow", "Streams: 50 pieces 10 ms apart, 500 connections", slow))
	return nil
}

// memoryAfter reads the memory when all the load is over.
func (b *bench) memoryAfter(subjects []*subject) error {
	s := memorySection() // the client APIs are those of one process
	for _, one := range subjects {
		if one.child == nil {
			continue
		}
		n, err := residentOf(one.pid())
		if err != nil {
			return err
		}
		s.row(one.name).put(figFull, megabytes(n))
	}
	b.findings.add(s)
	return nil
}
