package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// undisturbed is how much longer than the processor time of load, gateway and provider an answer may take without
// being disturbed by other programs.
const undisturbed = 200 * time.Microsecond

// paced are the answers of a load with a rate that no other program delayed. Without them a busy machine's latencies
// are those of its scheduler.
type paced struct {
	pids  []int // the programs that take part
	quiet durations

	share, p50, p99 []float64 // by round: %, µs and µs
}

// load sends requests until so many are answered: at a rate a second, or as many as possible if it is 0.
func (c *contender) load(ctx context.Context, requests, rate int) error {
	began := time.Now()
	if rate > 0 {
		if err := c.pace(requests, time.Second/time.Duration(rate)); err != nil {
			return err
		}
	} else {
		c.flood(requests)
	}
	c.took += time.Since(began)
	if err := context.Cause(c.loop.closing); err != nil {
		return err
	}
	return ctx.Err()
}

// pace sends requests on one connection, one each step.
func (c *contender) pace(requests int, step time.Duration) error {
	client, due := c.clients[0], time.Now()
	for range requests {
		due = due.Add(step)
		from := c.loop.await(due)
		before, err := c.paced.cpu()
		if err != nil {
			return err
		}
		c.loop.ask(c.loop.closing, client, from)
		took := time.Since(from)
		after, err := c.paced.cpu()
		if err != nil {
			return err
		}
		if took-(after-before) < undisturbed {
			c.paced.quiet = append(c.paced.quiet, took)
		}
	}
	return nil
}

// cpu returns the processor time of all programs that take part.
func (p *paced) cpu() (sum time.Duration, err error) {
	for _, pid := range p.pids {
		var t unix.Timespec
		const ofProcess = 2 // clock_getcpuclockid(3): the inverted id, and the clock of all threads
		if err := unix.ClockGettime(int32(^pid<<3|ofProcess), &t); err != nil {
			return 0, fmt.Errorf("processor time of process %d: %w", pid, err)
		}
		sum += time.Duration(t.Nano())
	}
	return sum, nil
}

// end records the results of a round with so many answers.
func (p *paced) end(answers int64) {
	if len(p.quiet) == 0 {
		return
	}
	quiet := p.quiet.spread()
	p.share = append(p.share, 100*float64(quiet.Count)/float64(answers))
	p.p50, p.p99 = append(p.p50, quiet.P50), append(p.p99, quiet.P99)
	p.quiet = p.quiet[:0]
}

// tellLatency adds the latencies of all answers and of the undisturbed ones, and of these the time over nginx's as a
// part of the base's. That is a quotient of medians: in a single round, the base may be as quick as nginx.
func tellLatency(s *section, all []*contender) {
	s.Columns = append(s.Columns, column{figP50, "p50 µs", 0}, column{figP99, "p99 µs", 0},
		column{"undisturbed", "% undisturbed", 0}, column{"quiet_p50", "their p50", 0}, column{"quiet_p99", "p99", 0},
		column{"p50_of_base", "p50 over nginx, of base", 2}, column{"p99_of_base", "p99", 2})
	for i, c := range all {
		s.Rows[i].put(figP50, c.p50...).put(figP99, c.p99...).put("undisturbed", c.paced.share...).
			put("quiet_p50", c.paced.p50...).put("quiet_p99", c.paced.p99...)
	}
	base, nginx := s.Rows[0].Figures, s.Rows[len(all)-1]
	if nginx.Subject != onNginx {
		return
	}
	for _, row := range s.Rows[1 : len(all)-1] {
		for of, key := range map[string]string{"p50_of_base": "quiet_p50", "p99_of_base": "quiet_p99"} {
			if own, base, least := row.Figures[key], base[key], nginx.Figures[key]; own != nil && base != nil && least != nil {
				row.put(of, (own.Median-least.Median)/(base.Median-least.Median))
			}
		}
	}
}
