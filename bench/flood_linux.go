package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// floodOptions configure a flood of requests that a gateway refuses.
type floodOptions struct {
	target      string
	model       string
	calm, key   string // API keys: of other requests, and of the refused ones
	rate, conns int    // refused requests a second, and their connections
	window      time.Duration
	pid         int
}

// floodTick is how often each connection of a flood sends.
const floodTick = 20 * time.Millisecond

// floodCommand sends requests of one key, which the gateway refuses, beside a few of another key, and the latter alone,
// in turns. It prints the processor time of a refusal, and how long the others take.
func floodCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench flood", flag.ContinueOnError)
	o := floodOptions{calm: os.Getenv(keyVariable), key: os.Getenv(rivalKeyVariable)}
	fs.StringVar(&o.target, "target", "127.0.0.1:8080", "`address` of the gateway")
	fs.StringVar(&o.model, "model", wholeModel, "`name` of the model of all requests")
	fs.IntVar(&o.rate, "rate", 10_000, "refused `requests` a second")
	fs.IntVar(&o.conns, "conns", 50, "`connections` of the refused requests")
	fs.DurationVar(&o.window, "duration", 3*time.Second, "length of each turn")
	fs.IntVar(&o.pid, "pid", 0, "`number` of the gateway's process")
	turns := fs.Int("turns", 3, "`number` of turns of each kind")
	if err := parse(fs, args, stderr); err != nil {
		return err
	}
	if o.calm == "" || o.key == "" || o.pid == 0 || o.rate < 1 || o.conns < 1 || *turns < 1 {
		return fmt.Errorf("%w: set --pid, %s to a key, and %s to one that is refused", errUsage, keyVariable,
			rivalKeyVariable)
	}
	for range *turns {
		alone, _, quiet, err := o.turn(ctx, 0)
		if err != nil {
			return err
		}
		beside, refused, busy, err := o.turn(ctx, o.rate)
		if err != nil {
			return err
		}
		each := 0.0
		if refused > 0 {
			each = micros(busy-quiet) / float64(refused)
		}
		fmt.Fprintf(stdout, "%.0f refusals a second, %.1f us of processor time each; others p50 %.0f and p99 %.0f us, "+
			"alone %.0f and %.0f us\n", float64(refused)/o.window.Seconds(), each, beside.P50, beside.P99, alone.P50,
			alone.P99)
	}
	return nil
}

// turn measures other requests beside a flood of that rate.
func (o *floodOptions) turn(ctx context.Context, rate int) (others spread, refused int64, cpu time.Duration, err error) {
	w := watch{pid: o.pid}
	if err := w.mark(); err != nil {
		return others, 0, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.window)
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	var failed error
	if rate > 0 {
		for range o.conns {
			all.Go(func() {
				n, err := o.flood(ctx, rate)
				mu.Lock()
				defer mu.Unlock()
				refused, failed = refused+n, errors.Join(failed, err)
			})
		}
	}
	took, err := o.others(ctx)
	all.Wait()
	if err = errors.Join(err, failed, w.end()); err != nil {
		return others, 0, 0, err
	}
	return took.spread(), refused, w.cpu, nil
}

// flood sends the share of one connection and returns the number of refused requests.
func (o *floodOptions) flood(ctx context.Context, rate int) (refused int64, err error) {
	c, err := o.dial(o.key)
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.Close() }()
	every := time.NewTicker(floodTick)
	defer every.Stop()
	begin := time.Now()
	for sent := int64(0); ; {
		select {
		case <-ctx.Done():
			return refused, nil
		case <-every.C:
		}
		for due := int64(time.Since(begin).Seconds() * float64(rate) / float64(o.conns)); sent < due; sent++ {
			status, err := c.call()
			if err != nil {
				return refused, err
			}
			if status == 429 {
				refused++
			}
		}
	}
}

// others sends a request every 20 ms, one after another.
func (o *floodOptions) others(ctx context.Context) (took durations, err error) {
	c, err := o.dial(o.calm)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	every := time.NewTicker(floodTick)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return took, nil
		case <-every.C:
		}
		began := time.Now()
		status, err := c.call()
		if err != nil || status != 200 {
			return took, errors.Join(err, fmt.Errorf("a request of the other key got the status %d", status))
		}
		took = append(took, time.Since(began))
	}
}

// floodConn is a connection that repeats one request.
type floodConn struct {
	net.Conn
	in      *bufio.Reader
	request []byte
}

func (o *floodOptions) dial(key string) (*floodConn, error) {
	c, err := net.DialTimeout("tcp", o.target, readyLimit)
	if err != nil {
		return nil, err
	}
	body := fmt.Sprintf(`{"model": %q, "messages": [{"role": "user", "content": "Hello"}]}`, o.model)
	request := fmt.Appendf(nil, "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", o.target, key, len(body), body)
	return &floodConn{c, bufio.NewReaderSize(c, 16<<10), request}, nil
}

// call returns the status of the answer.
func (c *floodConn) call() (status int, err error) {
	if _, err := c.Write(c.request); err != nil {
		return 0, err
	}
	h, err := readHead(c.in)
	if err != nil {
		return 0, err
	}
	return h.status(), h.readBody(c.in, func(body io.Reader) error {
		_, err := io.Copy(io.Discard, body)
		return err
	})
}
