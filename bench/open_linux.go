package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"time"
)

// openLoop sends at the times of a Poisson process, whatever the answers do:
// that is what many clients are who know nothing of each other. A request that
// finds no connection free waits for one, and its wait counts.
type openLoop struct {
	o        *loadOptions
	clock    clock
	rng      *rand.Rand
	requests [2][]byte // interactive, batch
	epoll    int
	callers  []*caller
	idle     []int // of callers
	waiting  []order
	start    int64
	busy     int
	result   openResult
	latency  [2]histogram // of the answers with 200
	refusal  histogram
	buf      []byte
	events   [maxEvents]syscall.EpollEvent
}

// order is a request that is to be sent.
type order struct {
	due  int64
	kind int // index of openLoop.requests
}

// caller is one connection.
type caller struct {
	order
	index int // among all, which the kernel hands back
	fd    int
	reply reply
}

// openKind is what became of the requests of one priority.
type openKind struct {
	Sent    int64  `json:"sent"`
	OK      int64  `json:"ok"`
	Refused int64  `json:"refused"` // 503
	Failed  int64  `json:"failed"`  // anything else
	Latency spread `json:"latency"` // of those that were answered with 200
}

// openResult is what an open loop measured, of all requests that were due in
// its window.
type openResult struct {
	Seconds     float64  `json:"seconds"`
	Interactive openKind `json:"interactive"`
	Batch       openKind `json:"batch"`
	Refusal     spread   `json:"refusal"` // from the moment at which the request was due
	// Unsaid counts refusals without a Retry-After.
	Unsaid int64 `json:"unsaid"`
	// LastRefusal is when the last interactive request was due that was refused
	// or failed, in seconds since the start; 0 for none.
	LastRefusal float64 `json:"last_refusal_seconds"`
	Failure     string  `json:"failure,omitempty"` // the last one
}

const (
	maxWaiting = 20_000
	openGrace  = 5 * time.Second
)

func runOpen(ctx context.Context, o *loadOptions) (*openResult, error) {
	l := &openLoop{o: o, clock: newClock(), rng: rand.New(rand.NewPCG(1, uint64(o.rate))), buf: make([]byte, 64<<10)}
	l.requests[0] = o.request()
	l.requests[1] = []byte(strings.Replace(string(l.requests[0]), "\r\n", "\r\nX-Weir-Priority: batch\r\n", 1))
	var err error
	if l.epoll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	defer l.close()
	return l.run(ctx)
}

func (l *openLoop) close() {
	for _, c := range l.callers {
		if c.fd >= 0 {
			_ = syscall.Close(c.fd)
		}
	}
	_ = syscall.Close(l.epoll)
}

func (l *openLoop) run(ctx context.Context) (*openResult, error) {
	l.start = l.clock.now()
	end := l.start + int64(l.o.duration)
	for due := l.next(l.start); due < end; due = l.next(due) {
		if err := l.poll(ctx, due); err != nil {
			return nil, err
		}
		l.offer(l.draw(due))
	}
	if err := l.poll(ctx, end); err != nil {
		return nil, err
	}
	l.result.Seconds = time.Duration(l.clock.now() - l.start).Seconds()
	for deadline := end + int64(openGrace); l.busy+len(l.waiting) > 0 && l.clock.now() < deadline; {
		if err := l.poll(ctx, l.clock.now()+int64(time.Millisecond)); err != nil {
			return nil, err
		}
	}
	if left := int64(l.busy + len(l.waiting)); left > 0 {
		l.result.Failure = fmt.Sprintf("%d requests had no answer %s after the end", left, openGrace)
		l.result.Interactive.Failed += left
	}
	l.result.Interactive.Latency, l.result.Batch.Latency = l.latency[0].spread(), l.latency[1].spread()
	l.result.Refusal = l.refusal.spread()
	return &l.result, nil
}

// next is the time of the request after the one at that time.
func (l *openLoop) next(at int64) int64 {
	return at + max(1, int64(l.rng.ExpFloat64()*float64(time.Second)/float64(l.o.rate)))
}

func (l *openLoop) draw(due int64) order {
	o := order{due: due}
	if l.rng.Float64() < l.o.batch {
		o.kind = 1
	}
	l.kind(o.kind).Sent++
	return o
}

func (l *openLoop) kind(n int) *openKind {
	if n == 1 {
		return &l.result.Batch
	}
	return &l.result.Interactive
}

// offer sends the request on a connection that is free, or on a new one; else
// it waits.
func (l *openLoop) offer(o order) {
	if n := len(l.idle); n > 0 {
		c := l.callers[l.idle[n-1]]
		l.idle = l.idle[:n-1]
		l.send(c, o)
		return
	}
	if len(l.callers) < l.o.conns {
		c := &caller{index: len(l.callers), fd: -1}
		l.callers = append(l.callers, c)
		l.send(c, o)
		return
	}
	if len(l.waiting) >= maxWaiting {
		l.failed(o, errors.New("too many requests wait for a connection"))
		return
	}
	l.waiting = append(l.waiting, o)
}

func (l *openLoop) send(c *caller, o order) {
	c.order = o
	err := error(nil)
	if c.fd < 0 {
		err = l.connect(c)
	}
	if err == nil {
		err = send(c.fd, l.requests[o.kind])
	}
	l.busy++
	if err != nil {
		l.lost(c, err)
		l.idle = append(l.idle, c.index)
	}
}

func (l *openLoop) connect(c *caller) (err error) {
	if c.fd, err = dial(l.o.target); err != nil {
		return err
	}
	c.reply = reply{}
	if err := syscall.SetNonblock(c.fd, true); err != nil {
		return fmt.Errorf("nonblock: %w", err)
	}
	event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(c.index)}
	if err := syscall.EpollCtl(l.epoll, syscall.EPOLL_CTL_ADD, c.fd, &event); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	return nil
}

// poll serves the connections until that time, at least once, and at most a
// millisecond longer: epoll(7) counts in these, and to spin would take from the
// others of the machine.
func (l *openLoop) poll(ctx context.Context, until int64) error {
	for {
		left := until - l.clock.now()
		n, err := syscall.EpollWait(l.epoll, l.events[:], int(max(0, (left+999_999)/int64(time.Millisecond))))
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("epoll: %w", err)
		}
		for i := range n {
			l.read(int(l.events[i].Fd))
		}
		if l.clock.now() >= until || ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// read takes what has come for one connection.
func (l *openLoop) read(index int) {
	c := l.callers[index]
	n, err := receive(c.fd, l.buf)
	if errors.Is(err, errBlocked) {
		return
	}
	if err == nil && n == 0 {
		err = errors.New("the connection was closed")
	}
	done := false
	if err == nil {
		done, err = c.reply.feed(l.buf[:n])
	}
	switch {
	case err != nil:
		l.lost(c, err)
	case done:
		l.answered(c)
	default:
		return
	}
	l.free(index)
}

// free gives the connection to the request that has waited longest.
func (l *openLoop) free(index int) {
	if len(l.waiting) == 0 {
		l.idle = append(l.idle, index)
		return
	}
	o := l.waiting[0]
	l.waiting = l.waiting[1:]
	l.send(l.callers[index], o)
}

func (l *openLoop) answered(c *caller) {
	l.busy--
	took, kind := l.clock.now()-c.due, l.kind(c.kind)
	switch c.reply.status {
	case 200:
		kind.OK++
		l.latency[c.kind].add(took)
	case 503:
		kind.Refused++
		l.refusal.add(took)
		if !c.reply.retryAfter {
			l.result.Unsaid++
		}
		l.note(c.order)
	default:
		l.failed(c.order, fmt.Errorf("status %d", c.reply.status))
	}
}

// lost counts a connection that broke. The next request opens it again.
func (l *openLoop) lost(c *caller, cause error) {
	if c.fd >= 0 {
		_ = syscall.Close(c.fd)
	}
	c.fd = -1
	l.busy--
	l.failed(c.order, cause)
}

func (l *openLoop) failed(o order, cause error) {
	l.kind(o.kind).Failed++
	l.result.Failure = cause.Error()
	l.note(o)
}

// note keeps when the last interactive request got no answer.
func (l *openLoop) note(o order) {
	if o.kind == 0 {
		l.result.LastRefusal = max(l.result.LastRefusal, time.Duration(o.due-l.start).Seconds())
	}
}
