package ratelimit_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/ratelimit"
	"weir/internal/ratelimit/redistest"
)

// fleet makes n nodes on one server, as they run.
func fleet(t *testing.T, n int, p ratelimit.Policy, url llm.Secret, timeout time.Duration) []*ratelimit.Limiter {
	t.Helper()
	var all []*ratelimit.Limiter
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for range n {
		l := newLimiter(t, ratelimit.Options{Policy: p, Valkey: url, Timeout: timeout, Nodes: func() int { return n }})
		running.Go(func() { l.Run(ctx) })
		all = append(all, l)
	}
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return all
}

// TestThreeNodes checks that nodes with one limit never exceed it together, and can use nearly all of it.
func TestThreeNodes(t *testing.T) {
	t.Parallel()
	nodes := fleet(t, 3, ratelimit.Policy{Installation: ratelimit.Limits{RPM: 300}}, redistest.Start(t).URL(), patience)
	got := race(t, 900, func(i int) asker { return nodes[i%3] })
	if got > 300 || got < 270 {
		t.Errorf("%d of 900 admitted on three nodes, want 270 to 300", got)
	}
	for _, n := range nodes {
		if s := n.Stats(); s.Alone > 0 || s.Outages > 0 {
			t.Errorf("stats %+v: want none decided alone", s)
		}
	}
}

// TestSlotsOfDeadNode checks that only the slots of a dead node are released.
func TestSlotsOfDeadNode(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := ratelimit.Policy{Installation: ratelimit.Limits{Concurrency: 2}}
	dies := onServer(t, server, p)
	lives := onServer(t, server, p)
	var a, b, c ratelimit.Reservation
	if ok, _ := ask(t, dies, &a, ratelimit.Caller{}, 1); !ok {
		t.Fatal("the first was refused")
	}
	if ok, _ := ask(t, lives, &b, ratelimit.Caller{}, 1); !ok {
		t.Fatal("the second was refused")
	}
	for range 4 {
		if ok, wait := ask(t, lives, &c, ratelimit.Caller{}, 1); ok || wait != time.Second {
			t.Fatalf("admitted %v, wait %v: want refused for 1s while both run", ok, wait)
		}
		lives.clock.advance(16 * time.Second) // renews
	}
	if ok, _ := ask(t, lives, &c, ratelimit.Caller{}, 1); !ok {
		t.Error("the slot of the dead node was not released")
	}
	var d ratelimit.Reservation
	if ok, _ := ask(t, lives, &d, ratelimit.Caller{}, 1); ok {
		t.Error("the slot of the living node was lost")
	}
	server.Do("FLUSHALL")
	lives.clock.advance(0)
	if ok, _ := ask(t, lives, &d, ratelimit.Caller{}, 1); ok {
		t.Error("a held slot was lost with the server's data")
	}
	b.Settle(1)
	lives.limiter.Tell()
	if ok, _ := ask(t, lives, &d, ratelimit.Caller{}, 1); !ok {
		t.Error("a released slot is not free")
	}
}

// outage is a way for Valkey to fail, and to recover.
type outage struct {
	name       string
	begin, end func()
}

// TestOutagesFallBackToMemory checks that requests continue from memory while Valkey is away, at this node's share,
// visibly, and that all nodes together exceed the window by one limit at most.
func TestOutagesFallBackToMemory(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"killed", "frozen", "partitioned"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			wire := newWire(t, server.Addr())
			o := map[string]outage{
				"killed":      {"killed", server.Kill, server.Run},
				"frozen":      {"frozen", server.Freeze, server.Thaw},
				"partitioned": {"partitioned", wire.cut, wire.mend},
			}[name]
			const limit = 30
			nodes := fleet(t, 3, ratelimit.Policy{Installation: ratelimit.Limits{RPM: limit, Concurrency: 100}}, wire.url(), 200*time.Millisecond)
			before := race(t, 9, func(i int) asker { return nodes[0] })
			if before != 9 {
				t.Errorf("%d of 9 admitted before, want all", before)
			}
			o.begin()
			during := race(t, 300, func(i int) asker { return nodes[i%3] })
			if during != limit-9 { // the first node has used 9 of its 10, the others nothing
				t.Errorf("%d admitted while away, want %d", during, limit-9)
			}
			for i, n := range nodes {
				if s := n.Stats(); n.Degraded() == nil || s.Outages == 0 || s.Alone == 0 || !s.Degraded {
					t.Errorf("node %d: degraded %v, stats %+v: want it to show", i, n.Degraded(), s)
				}
			}
			o.end()
			for i, n := range nodes {
				await(t, "the end of the outage", func() bool { return n.Degraded() == nil })
				if !n.Unsure() {
					t.Errorf("node %d trusts a Valkey that is back", i)
				}
			}
			after := race(t, 300, func(i int) asker { return nodes[i%3] })
			if before+during+after > 2*limit || after != 0 {
				t.Errorf("%d before, %d during, %d after: want at most %d, and none after", before, during, after, 2*limit)
			}
		})
	}
}

// TestIdleOutage checks that an outage is noticed without requests, and at the start.
func TestIdleOutage(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := ratelimit.Policy{Installation: ratelimit.Limits{RPM: 30}}
	early := fleet(t, 1, p, server.URL(), 0)[0]
	server.Kill()
	await(t, "the outage", func() bool { return early.Degraded() != nil })
	late := fleet(t, 1, p, server.URL(), 0)[0]
	if late.Degraded() == nil {
		t.Error("a limiter that has not reached Valkey thinks all is well")
	}
	var r ratelimit.Reservation
	if ok, _ := ask(t, late, &r, ratelimit.Caller{}, 1); !ok {
		t.Error("refused while Valkey is away")
	}
	server.Run()
	await(t, "the end", func() bool { return early.Degraded() == nil && late.Degraded() == nil })
}

// TestForgetfulServer checks that a server that has lost its scripts receives them again within the call, and that one
// that has lost its data exceeds the limit by one at most.
func TestForgetfulServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	node := fleet(t, 1, ratelimit.Policy{Installation: ratelimit.Limits{RPM: 30}}, server.URL(), patience)[0]
	of := func(int) asker { return node }
	first := race(t, 20, of)
	server.Do("SCRIPT FLUSH SYNC")
	second := race(t, 20, of)
	server.Do("FLUSHALL")
	third := race(t, 100, of)
	if first != 20 || second != 10 || third > 30 || node.Stats().Outages != 0 {
		t.Errorf("%d, %d without scripts, %d without data, stats %+v: want 20, 10, at most 30 and no outage", first, second, third, node.Stats())
	}
}

// TestRefusedByServer checks that an error is no answer: a server that cannot write counts as away.
func TestRefusedByServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	node := fleet(t, 1, ratelimit.Policy{Installation: ratelimit.Limits{RPM: 30}}, server.URL(), patience)[0]
	server.Do("CONFIG SET min-replicas-to-write 1")
	var r ratelimit.Reservation
	if ok, _ := ask(t, node, &r, ratelimit.Caller{}, 1); !ok || node.Degraded() == nil {
		t.Errorf("admitted %v, degraded %v: want it admitted from memory, visibly", ok, node.Degraded())
	}
	server.Do("CONFIG SET min-replicas-to-write 0")
	await(t, "the end", func() bool { return node.Degraded() == nil })
}

func await(t testing.TB, what string, come func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !come(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not happen within %s", what, patience)
		}
	}
}

// wire is a connection to a server that can be cut: sent data arrives when it is mended.
type wire struct {
	listener net.Listener

	mu   sync.Mutex
	open chan struct{} // closed while the wire is whole
}

func newWire(t *testing.T, to string) *wire {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must.Do(t, err)
	w := &wire{listener: l, open: make(chan struct{})}
	w.mend()
	var all sync.WaitGroup
	all.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { w.join(from, to) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return w
}

func (w *wire) url() llm.Secret { return llm.NewSecret("redis://" + w.listener.Addr().String()) }
func (w *wire) mend()           { close(w.state()) }

func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = make(chan struct{})
}

func (w *wire) state() chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open
}

// join forwards the bytes of both sides until one ends.
func (w *wire) join(from net.Conn, to string) {
	defer from.Close()
	onward, err := (&net.Dialer{}).Dial("tcp", to)
	if err != nil {
		return
	}
	defer onward.Close()
	var back sync.WaitGroup
	back.Go(func() {
		w.pass(from, onward)
		from.Close()
	})
	w.pass(onward, from)
	onward.Close()
	back.Wait()
}

func (w *wire) pass(to io.Writer, from io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		<-w.state()
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}
