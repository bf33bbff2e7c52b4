//go:build unix

package crashtest_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"time"

	"weir/internal/processtest"
)

// plan describes the end of a life.
type plan struct {
	kind  ending
	after time.Duration // after it was ready, or after its start
	grace time.Duration // of a kill during a stop: after SIGTERM
	point string        // of a kill at a point
	nth   int
}

// ending names one of the ways to end a life.
type ending string

const (
	atMoment  ending = "kill -9 at a random moment"
	inStart   ending = "kill -9 at a random moment of the start"
	atPoint   ending = "kill -9 at a named point"
	pointLate ending = "kill -9 because its point was not reached"
	gracious  ending = "SIGTERM"
	inStop    ending = "kill -9 after SIGTERM"
)

// points lists the named points, with the number of passes in a second or two: the journal's with every write or sync,
// the projector's with every batch.
var points = []struct {
	name string
	most int
}{
	{"journal.before_write", 220},
	{"journal.rotated", 1},
	{"project.before_commit", 10},
	{"journal.after_write", 220},
	{"journal.synced", 110},
	{"project.after_commit", 10},
}

// stopEvery is the number of kills before a graceful stop and one that a kill may interrupt, which does not count as a
// kill of the plan.
const stopEvery = 4

// plans returns n kills, every other one at a point, and the stops between them.
func plans(n int, rng *rand.Rand) []plan {
	var all []plan
	next := rng.IntN(len(points))
	for i := range n {
		switch {
		case i%2 == 0:
			p := points[next%len(points)]
			next++
			nth := 1 + rng.IntN(p.most)
			if rng.IntN(4) == 0 {
				nth = 1 // most points are first passed while the gateway starts
			}
			all = append(all, plan{kind: atPoint, point: p.name, nth: nth})
		case i%6 >= 4:
			all = append(all, plan{kind: inStart, after: between(rng, 0, 40*time.Millisecond)})
		default:
			all = append(all, plan{kind: atMoment, after: between(rng, 50*time.Millisecond, 1800*time.Millisecond)})
		}
		switch after := between(rng, 300*time.Millisecond, 1500*time.Millisecond); i % stopEvery {
		case 1:
			all = append(all, plan{kind: inStop, after: after, grace: between(rng, 0, 700*time.Millisecond)})
		case stopEvery - 1:
			all = append(all, plan{kind: gracious, after: after})
		}
	}
	return all
}

func between(rng *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(rng.Int64N(int64(high-low)))
}

// live runs one life of the gateway as planned.
func (h *testGateway) live(p plan) {
	h.t.Helper()
	process := h.serve(p)
	ready := make(chan time.Time, 1)
	go func() { ready <- h.awaitReady(process, h.gate) }()
	if p.kind == inStart {
		process.EndsWithin(p.after)
		process.Kill()
	}
	at := <-ready
	if at.IsZero() && p.kind != inStart && p.kind != atPoint {
		h.t.Fatalf("the gateway does not start; its output:\n%s", process.LastLines())
	}
	h.end(process, &p)
	h.gate.shut()
	h.lives = append(h.lives, life{
		plan: p, strict: h.strict(), began: process.Started, ready: at, ended: process.Ended, killed: wasKilled(process),
	})
}

// ended records an ended life of a process that was ready at that time.
func (h *testGateway) ended(p *processtest.Process, how ending, ready time.Time) {
	h.lives = append(h.lives, life{plan: plan{kind: how}, began: p.Started, ready: ready, ended: p.Ended, killed: wasKilled(p)})
}

// serve starts the gateway. Its durability alternates.
func (h *testGateway) serve(p plan) *processtest.Process {
	h.t.Helper()
	number := len(h.lives)
	cmd := h.command("serve", "--listen", "127.0.0.1:0")
	durability, fault := "batched", h.constant
	if h.strict() {
		durability = "strict"
	}
	if p.kind == atPoint {
		fault = fmt.Sprintf("%s:%d", p.point, p.nth)
	}
	cmd.Env = append(cmd.Env, "WEIR_DURABILITY="+durability, fmt.Sprintf("WEIR_FAULT_SEGMENT=%d", segmentSize))
	if fault != "" {
		cmd.Env = append(cmd.Env, "WEIR_FAULT="+fault)
	}
	log := filepath.Join(h.dir, fmt.Sprintf("life-%03d.log", number))
	h.logs = append(h.logs, log)
	return processtest.Start(h.t, cmd, log, "listening")
}

// patience bounds every wait for a process.
const patience = processtest.Patience

// wasKilled reports whether the dead process died by SIGKILL.
func wasKilled(p *processtest.Process) bool {
	status, ok := p.Cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// strict reports whether the current life, or else the next one, waits for the disk.
func (h *testGateway) strict() bool { return len(h.lives)%3 == 1 }

// awaitReady returns the time of the gateway's first answer; zero if it died earlier. From then on the gate leads to
// it.
func (h *testGateway) awaitReady(p *processtest.Process, g *gate) (at time.Time) {
	var base string
	select {
	case base = <-p.Address:
	case <-p.Over:
		return at
	case <-time.After(patience):
		p.Kill()
		return at
	}
	for h.get("http://"+base+"/readyz", nil, nil) != nil {
		if p.EndsWithin(time.Millisecond) {
			return at
		}
	}
	at = time.Now()
	g.open(base)
	return at
}

// end ends a life that has begun to answer, or waits for it to die at its point.
func (h *testGateway) end(process *processtest.Process, p *plan) {
	switch p.kind {
	case atMoment:
		process.EndsWithin(p.after)
		process.Kill()
	case atPoint:
		if !process.EndsWithin(patience / 2) {
			p.kind = pointLate
			process.Kill()
		}
	case inStop:
		process.EndsWithin(p.after)
		_ = process.Cmd.Process.Signal(syscall.SIGTERM) // it answered a moment ago
		process.EndsWithin(p.grace)
		process.Kill()
	case gracious:
		process.EndsWithin(p.after)
		if err := process.Stop(); err != nil {
			h.t.Errorf("graceful stop: %v", err)
		}
	}
}
