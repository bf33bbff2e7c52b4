package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"weir/internal/store/pgtest"
)

const (
	idleAfter      = 2 * time.Second // idle memory is measured this long after the start
	leavingStreams = 800
)

// atRest measures the cost of a gateway without load, each time on a newly started process.
func (b *bench) atRest(ctx context.Context) error {
	s, err := b.newSite("batched", settings{})
	if err != nil {
		return err
	}
	var starts []float64
	for n := range 1 + b.plan.starts {
		c, took, err := b.startSite(ctx, s)
		if err != nil {
			return err
		}
		if starts = append(starts, micros(took)/1e3); n == 0 {
			err = b.createKey(ctx, s)
		}
		c.stop()
		if err != nil {
			return err
		}
	}
	cold := b.findings.section("cold_start", "Cold start to the first 200 of a chat call",
		column{figExisting, "existing data, ms", 1}, column{figEmpty, "empty data, ms", 1})
	cold.row("weir").put(figExisting, starts[1:]...).put(figEmpty, starts[0])
	return b.heldStreams(ctx, s)
}

// heldStreams measures the memory of many slow streams. The gateway is restarted for each client API.
func (b *bench) heldStreams(ctx context.Context, s *site) error {
	held := b.findings.section("held_streams",
		fmt.Sprintf("Memory: at rest, 2 s after the start, and with %d slow streams, one piece a second", b.plan.held),
		column{figIdle, "idle MB", 1}, column{figFull, "streaming MB", 1}, column{figPerStream, "KB a stream", 1})
	if b.nginx != nil {
		if err := b.hold(ctx, held, b.nginx); err != nil {
			return err
		}
	}
	for _, name := range []string{onCompletions, onChat} {
		c, _, err := b.startSite(ctx, s)
		if err == nil {
			err = pause(ctx, idleAfter)
		}
		if err != nil {
			return err
		}
		if err := b.hold(ctx, held, s.subject(name, c)); err != nil {
			return err
		}
		c.stop()
	}
	return nil
}

func (b *bench) hold(ctx context.Context, held *section, s *subject) error {
	ramp := time.Duration(b.plan.held) * time.Second / 2000
	r, err := b.load(ctx, s, heldModel, "--conns", fmt.Sprint(b.plan.held), "--ramp", ramp.String(),
		"--warm", "1s", "--duration", "1s")
	if err != nil {
		return err
	}
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

// turn is a table with a row for each subject, measured in turns.
type turn struct {
	name, title string
	rounds      int
	model       string
	args        []string // arguments of the load
	figures     []figure
}

// figure is a column of the table.
type figure struct {
	column
	of      func(*loadResult) float64
	process bool                            // only available for a process
	join    func(own, base float64) float64 // combines it with the base's value in the same round; nil for none
}

func share(own, base float64) float64 { return own / base }
func over(own, base float64) float64  { return own - base }

// The figures of a load.
func cpuOfRequest(r *loadResult) float64 { return 1e6 * r.CPU / float64(r.Answers) }
func cpuOfPiece(r *loadResult) float64   { return 1e6 * r.CPU / float64(r.Pieces) }
func piecesOf(r *loadResult) float64     { return float64(r.Pieces) / r.Seconds }
func perCore(r *loadResult) float64      { return float64(r.Answers) / r.CPU }
func rateOf(r *loadResult) float64       { return float64(r.Requests) / r.Seconds }
func p50Of(r *loadResult) float64        { return r.Latency.P50 }
func p99Of(r *loadResult) float64        { return r.Latency.P99 }

// take loads all subjects in turns, starting each round with another one, so that disturbances of the machine affect
// all. base is the index of the subject that the others are compared with; -1 for none.
func (b *bench) take(ctx context.Context, t turn, base int, subjects []*subject) error {
	results := make([][]*loadResult, len(subjects))
	for round := range t.rounds {
		for i := range subjects {
			i := (i + round) % len(subjects)
			r, err := b.load(ctx, subjects[i], t.model, t.args...)
			if err != nil {
				return err
			}
			results[i] = append(results[i], r)
		}
	}
	s := b.findings.section(t.name, t.title)
	for _, f := range t.figures {
		s.Columns = append(s.Columns, f.column)
	}
	for i, subject := range subjects {
		row := s.row(subject.name)
		for _, f := range t.figures {
			if f.process && subject.child == nil || f.join != nil && (base < 0 || i <= base) {
				continue
			}
			var values []float64
			for round, r := range results[i] {
				value := f.of(r)
				if f.join != nil {
					value = f.join(value, f.of(results[base][round]))
				}
				values = append(values, value)
			}
			row.put(f.key, values...)
		}
	}
	return nil
}

// underLoad measures the cost of a request.
func (b *bench) underLoad(ctx context.Context) error {
	s, c, err := b.startVariant(ctx, "loaded", settings{})
	if err != nil {
		return err
	}
	_, strict, err := b.startVariant(ctx, "strict", settings{durability: "strict"})
	if err != nil {
		return err
	}
	strict.name = onStrict
	beside := slices.DeleteFunc([]*subject{b.direct, b.nginx, b.rival}, func(s *subject) bool { return s == nil })
	base := slices.Index(beside, b.nginx)
	streaming := append(beside, c, s.subject(onChat, c.child))
	whole := append(slices.Clip(streaming), strict)
	latency := []figure{
		{column: column{figP50, "p50 µs", 0}, of: p50Of},
		{column: column{figP99, "p99 µs", 0}, of: p99Of},
	}
	rates := []figure{
		{column{figPerCore, "requests/core-s", 0}, perCore, true, nil},
		{column{figCPU, "µs CPU/request", 1}, cpuOfRequest, true, nil},
		{column{figRatio, "of nginx", 2}, perCore, true, share},
		{column{figRate, "requests/s", 0}, rateOf, false, nil},
	}
	err = b.take(ctx, turn{
		"throughput", "Throughput: whole replies, 64 connections", b.plan.rounds, wholeModel,
		b.closed(), append(rates, latency...),
	}, base, whole)
	if err != nil {
		return err
	}
	paced := []string{"--rate", "200", "--duration", b.plan.paced.String()}
	err = b.take(ctx, turn{
		"pace", "Latency: 200 requests/s, one connection", b.plan.pacedRounds, wholeModel, paced, append(latency,
			figure{column{figOverP50, "p50 over nginx", 0}, p50Of, true, over},
			figure{column{figOverP99, "p99 over nginx", 0}, p99Of, true, over}),
	}, base, whole)
	if err != nil {
		return err
	}
	strict.child.stop()
	if err := b.streaming(ctx, base, streaming); err != nil {
		return err
	}
	memory := b.findings.section("memory", "Memory after all the load", column{figFull, "MB", 1})
	for _, s := range append(beside, c) { // the client APIs share one process
		if err := s.resident(memory); err != nil {
			return err
		}
	}
	return nil
}

// resident adds a row with the memory of a subject that is a process.
func (s *subject) resident(to *section) error {
	if s.child == nil {
		return nil
	}
	n, err := residentOf(s.pid())
	to.row(s.name).put(figFull, megabytes(n))
	return err
}

// closed returns the arguments of a closed loop.
func (b *bench) closed() []string {
	return []string{"--conns", "64", "--duration", b.plan.window.String()}
}

func (b *bench) streaming(ctx context.Context, base int, subjects []*subject) error {
	figures := []figure{
		{column{figPieceCPU, "µs CPU/piece", 1}, cpuOfPiece, true, nil},
		{column{figPieces, "pieces/s", 0}, piecesOf, false, nil},
		{column{figFirst, "first piece p50 µs", 0}, func(r *loadResult) float64 { return r.First.P50 }, false, nil},
		{column{figPieceLate, "piece p50 µs", 0}, func(r *loadResult) float64 { return r.Piece.P50 }, false, nil},
	}
	window := []string{"--duration", b.plan.streams.String()}
	err := b.take(ctx, turn{
		"streams_fast", "Streams: 50 pieces without delay, 16 connections", b.plan.streamRun, fastModel,
		append(window, "--conns", "16"), figures,
	}, base, subjects)
	if err != nil {
		return err
	}
	err = b.take(ctx, turn{
		"streams_slow", "Streams: 50 pieces 10 ms apart, 500 connections", b.plan.streamRun, slowModel,
		append(window, "--conns", "500", "--ramp", "500ms", "--warm", "300ms"), figures,
	}, base, subjects)
	if err != nil && ctx.Err() == nil { // a slow machine is overloaded by these streams
		b.note("not measured: streams with 10 ms between pieces: %v", err)
		return nil
	}
	return err
}

// variants measures whole replies with other clients, providers and databases, next to the variant of throughput.
func (b *bench) variants(ctx context.Context) (err error) {
	kinds := []struct {
		name, clientAPI string // a client API of the previous gateway; empty for completions of a new one
		of              settings
	}{
		{onCompletions, "", settings{}},
		{"weir /v1/messages", "messages", settings{}},
		{"weir /v1/responses", "responses", settings{}},
		{"weir /v1/responses, store: false", "responses-unkept", settings{}},
		{"weir …/completions, https provider", "", settings{secureProvider: true}},
		{"weir …/completions, TLS", "", settings{secure: true}},
		{"weir …/completions, HTTP/2 on one connection", "completions", settings{}},
		{"weir …/completions, all cores", "", settings{allCores: true}},
		{"weir …/completions, PostgreSQL", "", settings{}},
	}
	last := &kinds[len(kinds)-1]
	url, stop := b.startPostgres(ctx)
	defer func() { err = errors.Join(err, stop()) }()
	if last.of.database = url; url == "" {
		kinds = kinds[:len(kinds)-1]
	}
	var all []*subject
	for i, k := range kinds {
		if k.clientAPI != "" {
			s := *all[i-1]
			s.name, s.clientAPI, s.http2 = k.name, k.clientAPI, s.ca != ""
			all = append(all, &s)
			continue
		}
		_, s, err := b.startVariant(ctx, fmt.Sprintf("variant-%d", i), k.of)
		if err != nil {
			return err
		}
		s.name = k.name
		all = append(all, s)
	}
	title := "Whole replies, 64 connections, other clients, providers and databases"
	err = b.take(ctx, turn{"variants", title, b.plan.variants, wholeModel, b.closed(), []figure{
		{column{figCPU, "µs CPU/request", 1}, cpuOfRequest, true, nil},
		{column{figRatio, "of the first", 2}, perCore, true, share},
		{column{figRate, "requests/s", 0}, rateOf, false, nil},
	}}, 0, all)
	if err != nil {
		return err
	}
	return b.afterLeaving(ctx, all[0])
}

// startVariant starts a gateway and creates a key.
func (b *bench) startVariant(ctx context.Context, name string, of settings) (*site, *subject, error) {
	s, err := b.newSite(name, of)
	if err != nil {
		return nil, nil, err
	}
	c, _, err := b.startSite(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	err = b.createKey(ctx, s)
	return s, s.subject(onCompletions, c), err
}

// startPostgres returns the URL of a database on a server of its own; empty if there is none.
func (b *bench) startPostgres(ctx context.Context) (url string, stop func() error) {
	server, err := pgtest.Start()
	if err == nil {
		if err = server.Exec(ctx, "postgres", "CREATE DATABASE bench"); err == nil {
			return server.URL("bench"), server.Close
		}
		err = errors.Join(err, server.Close())
	}
	b.note("not measured: PostgreSQL: %v", err)
	return "", func() error { return nil }
}

// afterLeaving measures the memory of a gateway some time after the clients of many streams have left.
func (b *bench) afterLeaving(ctx context.Context, s *subject) error {
	if b.plan.afterLeaving == 0 {
		return nil
	}
	r, err := b.load(ctx, s, heldModel, "--conns", fmt.Sprint(leavingStreams), "--ramp", "500ms",
		"--warm", "500ms", "--duration", "500ms")
	if err == nil {
		err = pause(ctx, b.plan.afterLeaving)
	}
	if err != nil {
		return err
	}
	left := b.findings.section("memory_after_leaving",
		fmt.Sprintf("Memory %s after the clients of %d streams left", b.plan.afterLeaving, r.Open),
		column{figFull, "MB", 1})
	gateway := *s
	gateway.name = "weir"
	return gateway.resident(left)
}
