package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

const (
	// drainLimit bounds the wait for the answers to the last requests.
	drainLimit = 2 * time.Second
	// maxFailures ends a run that measures nothing but failures.
	maxFailures = 1000
	maxEvents   = 256
)

// loop is a closed loop: each of its connections sends the next request when
// the answer to the last one is in. One thread, one epoll(7).
type loop struct {
	o       *loadOptions
	clock   clock
	request []byte
	epoll   int
	clients []*client
	busy    int // connections that await an answer
	closing bool
	count   counts
	failed  int64 // over the whole run
	buf     []byte
	events  [maxEvents]syscall.EpollEvent
	now     int64 // when the bytes at hand were read
}

// counts are what the window counts.
type counts struct {
	requests, failures, pieces int64
	failure                    string // the last one
	latency, first, piece      histogram
}

// client is one connection.
type client struct {
	index  int // among all, which the kernel hands back
	fd     int
	busy   bool
	sent   int64
	pieces int  // of the answer at hand
	opened bool // it has had a piece
	reply  reply
	stamps stamps
}

func runLoop(ctx context.Context, o *loadOptions) (*loadResult, error) {
	l := &loop{o: o, clock: newClock(), request: o.request(), buf: make([]byte, 64<<10)}
	var err error
	if l.epoll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	defer l.close()
	return l.run(ctx)
}

func (l *loop) close() {
	for _, c := range l.clients {
		_ = syscall.Close(c.fd)
	}
	_ = syscall.Close(l.epoll)
}

func (l *loop) run(ctx context.Context) (*loadResult, error) {
	w := &watch{pid: l.o.pid}
	if err := l.start(ctx, w); err != nil {
		return nil, err
	}
	result := &loadResult{Open: l.opened()}
	start := l.clock.now()
	if err := l.poll(ctx, start+int64(l.o.duration)); err != nil {
		return nil, err
	}
	result.Seconds = time.Duration(l.clock.now() - start).Seconds()
	result.Requests, result.Pieces = l.count.requests, l.count.pieces
	if err := l.wind(ctx, w); err != nil {
		return nil, err
	}
	result.Answers, result.Failures, result.Failure = l.count.requests, l.count.failures, l.count.failure
	result.Latency, result.First, result.Piece = l.count.latency.spread(), l.count.first.spread(), l.count.piece.spread()
	result.CPU, result.RSSBefore, result.RSSAfter = w.cpu.Seconds(), w.before, w.after
	return result, nil
}

// start opens the connections, loads them for a while, and begins the window.
func (l *loop) start(ctx context.Context, w *watch) error {
	if err := w.begin(); err != nil {
		return err
	}
	if err := l.open(ctx); err != nil {
		return err
	}
	if err := l.poll(ctx, l.after(l.o.warm)); err != nil {
		return err
	}
	l.count = counts{}
	return w.mark()
}

// wind reads the process at the end of the window. Streams are cut off as they
// are. Whole answers are awaited, and then the work that the process does
// behind them, so that none of it goes uncounted.
func (l *loop) wind(ctx context.Context, w *watch) error {
	if l.o.stream {
		return w.end()
	}
	l.closing = true
	for deadline := l.after(drainLimit); l.busy > 0 && l.clock.now() < deadline; {
		if err := l.poll(ctx, l.clock.now()+int64(time.Millisecond)); err != nil {
			return err
		}
	}
	return w.quiet(ctx)
}

func (l *loop) after(d time.Duration) int64 { return l.clock.now() + int64(d) }

// open opens all connections, evenly over the ramp.
func (l *loop) open(ctx context.Context) error {
	start := l.clock.now()
	for i := range l.o.conns {
		due := start + int64(l.o.ramp)*int64(i)/int64(l.o.conns)
		if err := l.poll(ctx, due); err != nil {
			return err
		}
		c := &client{index: i}
		if l.o.stream {
			c.reply.body = func(p []byte) { c.stamps.scan(p, func(at int64) { l.piece(c, at) }) }
		}
		if err := l.connect(c); err != nil {
			return err
		}
		l.clients = append(l.clients, c)
	}
	return nil
}

func (l *loop) connect(c *client) error {
	fd, err := dial(l.o.target)
	if err != nil {
		return err
	}
	c.fd, c.reply, c.stamps = fd, reply{body: c.reply.body}, stamps{}
	if err := syscall.SetNonblock(fd, true); err != nil {
		return fmt.Errorf("nonblock: %w", err)
	}
	event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(c.index)}
	if err := syscall.EpollCtl(l.epoll, syscall.EPOLL_CTL_ADD, fd, &event); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	return l.ask(c)
}

func (l *loop) opened() (n int) {
	for _, c := range l.clients {
		if c.opened {
			n++
		}
	}
	return n
}

// poll serves the connections until that time, at least once.
func (l *loop) poll(ctx context.Context, until int64) error {
	for {
		left := until - l.clock.now()
		n, err := syscall.EpollWait(l.epoll, l.events[:], int(max(0, (left+999_999)/1_000_000)))
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("epoll: %w", err)
		}
		l.now = l.clock.now()
		for i := range n {
			if err := l.read(l.clients[l.events[i].Fd]); err != nil {
				return err
			}
		}
		if l.clock.now() >= until || ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// read takes what has come for one connection.
func (l *loop) read(c *client) error {
	n, err := receive(c.fd, l.buf)
	if errors.Is(err, errBlocked) {
		return nil
	}
	l.now = l.clock.now()
	if err == nil && n == 0 {
		err = errors.New("the connection was closed")
	}
	var done bool
	if err == nil {
		done, err = c.reply.feed(l.buf[:n])
	}
	switch {
	case err != nil:
		return l.lost(c, err)
	case done:
		return l.answered(c)
	}
	return nil
}

// piece counts a piece of a stream that was sent at that time.
func (l *loop) piece(c *client, at int64) {
	if c.pieces == 0 {
		l.count.first.add(l.now - c.sent)
		c.opened = true
	}
	c.pieces++
	l.count.pieces++
	l.count.piece.add(l.now - at)
}

func (l *loop) answered(c *client) error {
	c.busy = false
	l.busy--
	switch {
	case c.reply.status != 200:
		l.fail(fmt.Errorf("status %d", c.reply.status))
	case c.pieces != l.o.pieces:
		l.fail(fmt.Errorf("a stream of %d pieces, not %d", c.pieces, l.o.pieces))
	default:
		l.count.requests++
		l.count.latency.add(l.now - c.sent)
	}
	if l.failed > maxFailures {
		return fmt.Errorf("over %d failures, the last: %s", maxFailures, l.count.failure)
	}
	if l.closing {
		return nil
	}
	if err := l.ask(c); err != nil {
		return l.lost(c, err)
	}
	return nil
}

// ask sends the next request.
func (l *loop) ask(c *client) error {
	c.pieces = 0
	c.sent = l.clock.now()
	if err := send(c.fd, l.request); err != nil {
		return err
	}
	c.busy = true
	l.busy++
	return nil
}

// lost counts a connection that broke, and opens it again.
func (l *loop) lost(c *client, cause error) error {
	_ = syscall.Close(c.fd)
	c.fd = -1
	if c.busy {
		c.busy = false
		l.busy--
	}
	l.fail(cause)
	if l.failed > maxFailures {
		return fmt.Errorf("over %d failures, the last: %w", maxFailures, cause)
	}
	if l.closing {
		return nil
	}
	return l.connect(c)
}

func (l *loop) fail(cause error) {
	l.failed++
	l.count.failures++
	l.count.failure = cause.Error()
}
