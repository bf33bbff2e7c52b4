//go:build unix

package crashtest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	workers = 28
	// retries bounds the repetitions of a request with an Idempotency-Key until its answer arrives.
	retries = 6
	// breath is the pause after a request that reached no gateway.
	breath = 50 * time.Millisecond
)

// gate admits requests while the gateway answers.
type gate struct {
	mu     sync.Mutex
	base   string // empty while it does not
	opened chan struct{}
}

func newGate() *gate { return &gate{opened: make(chan struct{})} }

func (g *gate) open(base string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.base = base
	close(g.opened)
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.base != "" {
		g.base, g.opened = "", make(chan struct{})
	}
}

// pass returns the gateway's address as soon as there is one; empty when ctx ends first.
func (g *gate) pass(ctx context.Context) string {
	for {
		g.mu.Lock()
		base, opened := g.base, g.opened
		g.mu.Unlock()
		if base != "" {
			return base
		}
		select {
		case <-ctx.Done():
			return ""
		case <-opened:
		}
	}
}

// load runs workers that send requests without a pause.
type load struct {
	gates   []*gate // each request goes to any of them
	client  *http.Client
	members []member
	rest    time.Duration // of each worker between two requests, on average
	slow    time.Duration // the time that every eighth client needs for each line of a stream
	running sync.WaitGroup

	mu       sync.Mutex
	receipts []receipt
}

func newLoad(members []member, gates ...*gate) *load {
	return &load{gates: gates, members: members, client: &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 2 * workers, DisableCompression: true, ResponseHeaderTimeout: patience,
	}}}
}

// begin starts the workers. They begin no new requests once ctx ends, and finish the others.
func (l *load) begin(ctx context.Context, seed uint64) {
	for i := range workers {
		rng := rand.New(rand.NewPCG(seed, uint64(i)+1))
		l.running.Go(func() { l.work(ctx, rng) })
	}
}

// end waits for the workers, whose context has ended.
func (l *load) end() []receipt {
	l.running.Wait()
	l.client.CloseIdleConnections()
	return l.receipts
}

func (l *load) work(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		if l.rest > 0 {
			time.Sleep(time.Duration(rng.Int64N(2 * int64(l.rest))))
		}
		o := l.order(rng)
		if o.key != "" {
			l.insist(ctx, o)
			continue
		}
		l.once(ctx, o)
	}
}

// once makes the request as soon as there is a gateway.
func (l *load) once(ctx context.Context, o order) (got receipt) {
	base := o.gate.pass(ctx)
	if base == "" {
		return got
	}
	got = ask(context.WithoutCancel(ctx), l.client, base, o)
	l.mu.Lock()
	l.receipts = append(l.receipts, got)
	l.mu.Unlock()
	if got.status == 0 {
		time.Sleep(breath)
	}
	return got
}

// insist repeats a request with an Idempotency-Key until it is answered, despite kills, and then once more, for the
// replay.
func (l *load) insist(ctx context.Context, o order) {
	for range retries {
		got := l.once(ctx, o)
		if got.whole && got.status == http.StatusOK {
			o.leaveAfter, o.leaveBefore = 0, 0
			l.once(ctx, o)
			return
		}
		if got.whole && got.status != http.StatusConflict {
			return
		}
	}
}

// order picks the next request: any model, at any client API, now and then with a client that does not wait for the
// end.
func (l *load) order(rng *rand.Rand) order {
	o := order{
		gate:   l.gates[rng.IntN(len(l.gates))],
		member: &l.members[rng.IntN(len(l.members))], model: choose(rng), clientAPI: chooseAPI(rng),
		stream: rng.IntN(100) < 60, wantUsage: rng.IntN(2) == 0, prompt: prompt(rng),
	}
	if rng.IntN(100) < 12 {
		o.maxTokens = 5 + rng.IntN(40)
	}
	if rng.IntN(100) < 8 {
		o.choices = 2 + rng.IntN(3)
	}
	o.suit(rng)
	if l.slow > 0 && rng.IntN(8) == 0 {
		o.slow = l.slow
	}
	switch n := rng.IntN(100); {
	case n < 8 && o.clientAPI != countAPI:
		o.key = fmt.Sprintf("key-%016x", rng.Uint64())
	case n < 20 && o.stream:
		o.leaveAfter = 1 + rng.IntN(15)
	case n < 26:
		o.leaveBefore = time.Duration(2+rng.IntN(80)) * time.Millisecond
	}
	o.suitSocket(rng)
	return o
}

func choose(rng *rand.Rand) string {
	all := requests()
	sum := 0
	for i := range all {
		sum += all[i].weight
	}
	at := rng.IntN(sum)
	for i := range all {
		if at -= all[i].weight; at < 0 {
			return all[i].model
		}
	}
	panic("crashtest: the weights do not add up")
}

// prompt generates 4 to 60 plain words.
func prompt(rng *rand.Rand) string {
	words := strings.Fields("the river runs slow past an old mill and nobody counts what the water takes along")
	text := make([]string, 4+rng.IntN(57))
	for i := range text {
		text[i] = words[rng.IntN(len(words))]
	}
	return strings.Join(text, " ")
}
