package main

import (
	"context"
	"errors"
	"fmt"

	"weir/internal/store/pgtest"
)

// variants measures whole replies as clients, providers and databases of other kinds have them, beside the
// one that throughput measures.
func (b *bench) variants(ctx context.Context) (err error) {
	usual, err := b.startVariant(ctx, "usual", settings{})
	if err != nil {
		return err
	}
	at := func(name, clientAPI string) *subject { s := *usual; s.name, s.clientAPI = name, clientAPI; return &s }
	all := []*subject{
		at(onCompletions, "completions"), at("weir /v1/messages", "messages"),
		at("weir /v1/responses", "responses"), at("weir /v1/responses, store: false", "responses-unkept"),
	}
	more := func(name, site string, of settings) {
		var s *subject
		if err == nil {
			if s, err = b.startVariant(ctx, site, of); err == nil {
				s.name = name
				all = append(all, s)
			}
		}
	}
	more("weir …/completions, https provider", "https", settings{secureProvider: true})
	more("weir …/completions, TLS", "tls", settings{secure: true})
	if err == nil {
		second := *all[len(all)-1]
		second.name, second.http2 = "weir …/completions, HTTP/2 on one connection", true
		all = append(all, &second)
	}
	more("weir …/completions, all cores", "cores", settings{allCores: true})
	if url, stop := b.startPostgres(ctx); url != "" {
		defer func() { err = errors.Join(err, stop()) }()
		more("weir …/completions, PostgreSQL", "postgres", settings{database: url})
	}
	if err != nil {
		return err
	}
	t, err := b.take(ctx, b.plan.variants, all, func(*subject) []string {
		return []string{"--conns", "64", "--duration", b.plan.window.String()}
	})
	if err != nil {
		return err
	}
	b.findings.add(variantSection(t))
	return b.afterLeaving(ctx, usual)
}

func (b *bench) startVariant(ctx context.Context, name string, of settings) (*subject, error) {
	s, err := b.newSite(name, of)
	if err != nil {
		return nil, err
	}
	c, err := b.startKeyed(ctx, s)
	if err != nil {
		return nil, err
	}
	return s.subject(name, "completions", c), nil
}

// startPostgres is the URL of a database on a server of its own; empty where there is none.
func (b *bench) startPostgres(ctx context.Context) (url string, stop func() error) {
	server, err := pgtest.Start()
	if err == nil {
		if err = server.Exec(ctx, "postgres", "CREATE DATABASE bench"); err == nil {
			return server.URL("bench"), server.Close
		}
		err = errors.Join(err, server.Close())
	}
	b.note("not measured: PostgreSQL: %v", err)
	return "", nil
}

// afterLeaving reads the memory of a gateway some time after the clients of many streams have left.
func (b *bench) afterLeaving(ctx context.Context, s *subject) error {
	if b.plan.afterLeaving == 0 {
		return nil
	}
	args := []string{"--conns", fmt.Sprint(leavingStreams), "--ramp", "500ms", "--warm", "500ms", "--duration", "500ms"}
	r, err := b.load(ctx, s, append(args, b.streamArgs(s, heldModel)...)...)
	if err != nil {
		return err
	}
	b.trouble(s, r)
	if err := pause(ctx, b.plan.afterLeaving); err != nil {
		return err
	}
	n, err := residentOf(s.pid())
	if err != nil {
		return err
	}
	title := fmt.Sprintf("Memory %s after the clients of %d streams left", b.plan.afterLeaving, r.Open)
	left := &section{Name: "memory_after_leaving", Title: title, Columns: []column{{figFull, "MB", 1}}}
	left.row("weir").put(figFull, megabytes(n))
	b.findings.add(left)
	return nil
}

const leavingStreams = 800

func variantSection(t *turns) *section {
	s := &section{
		Name: "variants", Title: "Whole replies, 64 connections, other clients, providers and databases",
		Columns: []column{{figCPU, "µs CPU/request", 1}, {figRatio, "of the first", 2}, {figRate, "requests/s", 0}},
	}
	cost := func(r *loadResult) float64 { return 1e6 * r.CPU / float64(r.Answers) }
	first := t.values(0, cost)
	for i, subject := range t.subjects {
		costs := t.values(i, cost)
		shares := make([]float64, len(costs))
		for round := range costs {
			shares[round] = first[round] / costs[round]
		}
		s.row(subject.name).put(figCPU, costs...).put(figRatio, shares...).
			put(figRate, t.values(i, func(r *loadResult) float64 { return float64(r.Requests) / r.Seconds })...)
	}
	return s
}
