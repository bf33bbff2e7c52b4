package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// maxWaiting bounds the requests of an open loop that wait for a connection.
const maxWaiting = 20_000

// openKind counts the results of the requests of one priority.
type openKind struct {
	Sent    int64  `json:"sent"`
	OK      int64  `json:"ok"`
	Refused int64  `json:"refused"` // 503
	Failed  int64  `json:"failed"`  // any other result
	Latency spread `json:"latency"` // of answers with status 200
	took    durations
}

// openResult holds the measurements of an open loop, for all requests that were due in its window.
type openResult struct {
	Seconds     float64  `json:"seconds"`
	Interactive openKind `json:"interactive"`
	Batch       openKind `json:"batch"`
	Refusal     spread   `json:"refusal"` // from the time when the request was due
	// Unsaid counts refusals without a Retry-After.
	Unsaid int64 `json:"unsaid"`
	// LastRefusal is when the last refused or failed interactive request was due, in seconds since the start; 0 for
	// none.
	LastRefusal float64 `json:"last_refusal_seconds"`
	Failure     string  `json:"failure,omitempty"` // the last one

	refused durations
}

// order is a scheduled request of an open loop.
type order struct {
	due   time.Time
	batch bool
}

func (r *openResult) kind(o order) *openKind {
	if o.batch {
		return &r.Batch
	}
	return &r.Interactive
}

// open sends requests at the times of a Poisson process, independently of the answers, as many independent clients do.
// A request waits if no connection is free, and its wait counts.
func (l *loop) open(ctx context.Context) (*openResult, error) {
	r, rng := &openResult{}, rand.New(rand.NewPCG(1, uint64(l.o.rate)))
	p := l.newPool()
	start := time.Now()
	for due := start; ; {
		due = due.Add(time.Duration(rng.ExpFloat64() * float64(time.Second) / float64(l.o.rate)))
		if due.Sub(start) >= l.o.duration {
			break
		}
		if err := pause(ctx, time.Until(due)); err != nil {
			return nil, err
		}
		o := order{due, rng.Float64() < l.o.batch}
		l.mu.Lock()
		r.kind(o).Sent++
		l.mu.Unlock()
		if p.waiting.Load() >= int64(maxWaiting+l.o.conns) {
			l.settle(r, o, start, 0, false, errors.New("too many requests wait for a connection"))
			continue
		}
		p.waiting.Add(1)
		l.clients.Go(func() {
			status, retry, err := p.call(ctx, o)
			l.settle(r, o, start, status, retry, err)
		})
	}
	r.Seconds = time.Since(start).Seconds()
	await(&l.clients, drainLimit)
	l.fail(fmt.Errorf("no answer %s after the end", drainLimit))
	l.clients.Wait()
	r.Interactive.Latency, r.Batch.Latency = r.Interactive.took.spread(), r.Batch.took.spread()
	r.Refusal = r.refused.spread()
	return r, nil
}

// settle counts the result of a request.
func (l *loop) settle(r *openResult, o order, start time.Time, status int, retry bool, err error) {
	took := time.Since(o.due)
	l.mu.Lock()
	defer l.mu.Unlock()
	kind := r.kind(o)
	switch {
	case err == nil && status == http.StatusOK:
		kind.OK++
		kind.took = append(kind.took, took)
		return
	case err == nil && status == http.StatusServiceUnavailable:
		kind.Refused++
		r.refused = append(r.refused, took)
		if !retry {
			r.Unsaid++
		}
	default:
		kind.Failed++
		if r.Failure = fmt.Sprintf("status %d", status); err != nil {
			r.Failure = err.Error()
		}
	}
	if !o.batch {
		r.LastRefusal = max(r.LastRefusal, o.due.Sub(start).Seconds())
	}
}

// pool holds the connections of an open loop. The one used last is used next, so that no more are opened than needed.
type pool struct {
	first    *client
	requests [2][]byte // interactive, batch
	waiting  atomic.Int64
	slots    chan struct{} // full when all connections are in use

	mu   sync.Mutex
	idle []*client
}

func (l *loop) newPool() *pool {
	p := &pool{first: l.first, slots: make(chan struct{}, l.o.conns)}
	p.requests[0] = l.first.request
	p.requests[1] = bytes.Replace(l.first.request, []byte("\r\n"), []byte("\r\nX-Weir-Priority: batch\r\n"), 1)
	return p
}

func (p *pool) call(ctx context.Context, o order) (status int, retry bool, err error) {
	p.slots <- struct{}{}
	defer func() { <-p.slots; p.waiting.Add(-1) }()
	c := p.take()
	defer p.give(c)
	c.request = p.requests[0]
	if o.batch {
		c.request = p.requests[1]
	}
	return c.call(ctx, discard)
}

func (p *pool) take() *client {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return c
	}
	c := *p.first
	return &c
}

func (p *pool) give(c *client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, c)
}
