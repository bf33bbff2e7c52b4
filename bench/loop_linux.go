package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	drainLimit  = 5 * time.Second // for the answers to the last requests
	maxFailures = 1000            // after more failures the run ends, because it measures only failures
	// spinFor is how long before its time a paced request wakes up and spins: longer than a virtual machine takes to
	// wake up.
	spinFor = 200 * time.Microsecond
)

// loop is a running load: clients, each a goroutine with a connection, that send requests by a schedule.
type loop struct {
	o       *loadOptions
	first   *client
	clients sync.WaitGroup
	fail    context.CancelCauseFunc
	closing context.Context // ends when no more requests may begin

	mu     sync.Mutex
	count  counts
	opened int   // streams with at least one piece
	failed int64 // in the whole run
}

// counts are the counts of the window.
type counts struct {
	requests, failures, pieces int64
	failure                    string // the last one
	latency, first, piece      durations
}

// run runs the load. It is a closed loop, in which each connection sends the next request after the answer to the
// previous one; or a paced loop, or an open one.
func (o *loadOptions) run(ctx context.Context) (any, error) {
	first, err := o.prepare()
	if err != nil {
		return nil, err
	}
	ctx, fail := context.WithCancelCause(ctx)
	closing, stop := context.WithCancel(ctx)
	l := &loop{o: o, first: first, fail: fail, closing: closing}
	defer l.clients.Wait()
	defer fail(nil)
	defer stop()
	if o.open {
		return l.open(ctx)
	}
	return l.window(ctx, stop)
}

func (l *loop) window(ctx context.Context, stop func()) (*loadResult, error) {
	w := &watch{pid: l.o.pid}
	if err := w.begin(); err != nil {
		return nil, err
	}
	if err := l.start(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	r := &loadResult{Open: l.opened}
	l.count = counts{}
	l.mu.Unlock()
	if err := w.mark(); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := pause(ctx, l.o.duration); err != nil {
		return nil, err
	}
	r.Seconds = time.Since(began).Seconds()
	l.mu.Lock()
	r.Requests, r.Pieces = l.count.requests, l.count.pieces
	l.mu.Unlock()
	stop()
	if err := l.wind(ctx, w); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &l.count
	r.Answers, r.Failures, r.Failure = c.requests, c.failures, c.failure
	r.Latency, r.First, r.Piece = c.latency.spread(), c.first.spread(), c.piece.spread()
	r.CPU, r.RSSBefore, r.RSSAfter = w.cpu.Seconds(), w.before, w.after
	return r, nil
}

// start opens the connections, evenly over the ramp, and loads them for the warm-up time.
func (l *loop) start(ctx context.Context) error {
	conns, began := l.o.conns, time.Now()
	if l.o.rate > 0 {
		conns = 1
	}
	for i := range conns {
		due := began.Add(l.o.ramp * time.Duration(i) / time.Duration(conns))
		if err := pause(ctx, time.Until(due)); err != nil {
			return err
		}
		one := *l.first
		l.clients.Go(func() { l.repeat(ctx, &one) })
	}
	return pause(ctx, l.o.warm)
}

// wind measures the process at the end of the window. Streams are cut off. Whole answers are awaited, and then the
// process's remaining work, so that all of it counts.
func (l *loop) wind(ctx context.Context, w *watch) error {
	if l.o.stream {
		return w.end()
	}
	await(&l.clients, drainLimit)
	return w.quiet(ctx)
}

// await waits for a group, up to a limit.
func await(group *sync.WaitGroup, limit time.Duration) {
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
	}
}

// repeat sends requests on one connection until the load closes.
func (l *loop) repeat(ctx context.Context, c *client) {
	defer c.close()
	due := time.Now()
	for l.closing.Err() == nil {
		from := time.Now()
		if l.o.rate > 0 {
			due = due.Add(time.Second / time.Duration(l.o.rate))
			from = l.await(due)
		}
		l.ask(ctx, c, from)
	}
}

// await waits for the scheduled time of a request, and returns when it begins. Times follow the schedule, so errors do
// not add up; a request that is due while the previous one is running counts its wait.
func (l *loop) await(due time.Time) time.Time {
	if time.Now().After(due) {
		return due
	}
	if pause(l.closing, time.Until(due)-spinFor) != nil {
		return due
	}
	for time.Now().Before(due) { // a timer is too coarse
	}
	return time.Now()
}

// ask sends one request and counts its result. It reports whether the request was answered.
func (l *loop) ask(ctx context.Context, c *client, from time.Time) bool {
	pieces, read := 0, discard
	if l.o.stream {
		read = func(body io.Reader) error {
			return readPieces(body, func(sent int64) { l.piece(from, sent, pieces); pieces++ })
		}
	}
	status, _, err := c.call(ctx, read)
	took := time.Since(from)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d", status)
	}
	if err == nil && pieces != l.o.pieces {
		err = fmt.Errorf("a stream of %d pieces, not %d", pieces, l.o.pieces)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.count.requests++
		l.count.latency = append(l.count.latency, took)
		return true
	}
	if ctx.Err() != nil || l.o.stream && l.closing.Err() != nil {
		return false // cut off by the load
	}
	l.count.failures++
	l.count.failure = err.Error()
	if l.failed++; l.failed > maxFailures {
		l.fail(fmt.Errorf("over %d failures, the last: %w", maxFailures, err))
	}
	return false
}

// piece counts a piece of a stream; before is the number of earlier pieces.
func (l *loop) piece(began time.Time, sent int64, before int) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if before == 0 {
		l.count.first = append(l.count.first, now.Sub(began))
		l.opened++
	}
	l.count.pieces++
	l.count.piece = append(l.count.piece, time.Duration(now.UnixNano()-sent))
}
