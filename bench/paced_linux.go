package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"
)

// runPaced sends at a fixed rate on one connection. The times are those of the
// schedule, k / rate after the start, so no error adds up; a request whose time
// passed while the one before was under way counts its wait.
func runPaced(ctx context.Context, o *loadOptions) (*loadResult, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fd, err := dial(o.target)
	if err != nil {
		return nil, err
	}
	defer func() { _ = syscall.Close(fd) }()
	p := &paced{clock: newClock(), fd: fd, request: o.request(), buf: make([]byte, 64<<10)}
	period := int64(time.Second) / int64(o.rate)
	if err := p.run(ctx, period, int64(o.warm)/period+1); err != nil {
		return nil, err
	}
	p.latency, p.failures = histogram{}, 0
	w := watch{pid: o.pid}
	if err := errors.Join(w.begin(), w.mark()); err != nil {
		return nil, err
	}
	start := p.clock.now()
	if err := errors.Join(p.run(ctx, period, int64(o.duration)/period), w.end()); err != nil {
		return nil, err
	}
	return &loadResult{
		Seconds:  time.Duration(p.clock.now() - start).Seconds(),
		Requests: p.latency.total, Answers: p.latency.total, Latency: p.latency.spread(),
		Failures: p.failures, Failure: p.failure,
		CPU: w.cpu.Seconds(), RSSBefore: w.before, RSSAfter: w.after,
	}, nil
}

type paced struct {
	clock    clock
	fd       int
	request  []byte
	buf      []byte
	latency  histogram
	failures int64
	failure  string
}

func (p *paced) run(ctx context.Context, period, count int64) error {
	start := p.clock.now() + period
	for k := range count {
		if err := ctx.Err(); err != nil {
			return err
		}
		due := start + k*period
		late := p.clock.now() > due
		p.clock.sleepUntil(due)
		from := p.clock.now()
		if late {
			from = due
		}
		status, err := p.call()
		switch {
		case err != nil:
			return err
		case status != 200:
			p.failures++
			p.failure = fmt.Sprintf("status %d", status)
		default:
			p.latency.add(p.clock.now() - from)
		}
	}
	return nil
}

// call sends the request, awaits its answer and gives the status.
func (p *paced) call() (int, error) {
	if err := send(p.fd, p.request); err != nil {
		return 0, err
	}
	var r reply
	for deadline := p.clock.now() + int64(socketTimeout); p.clock.now() < deadline; {
		n, err := receive(p.fd, p.buf)
		if errors.Is(err, errBlocked) {
			continue
		}
		if err != nil {
			return 0, err
		}
		if n == 0 {
			return 0, errors.New("the connection was closed")
		}
		if done, err := r.feed(p.buf[:n]); done || err != nil {
			return r.status, err
		}
	}
	return 0, fmt.Errorf("no answer within %s", socketTimeout)
}
