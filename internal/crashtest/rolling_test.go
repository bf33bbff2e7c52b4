//go:build linux

package crashtest_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// rollingDelay is drain_delay: several times the period after which the balancer knows that a node is not ready.
	rollingDelay = time.Second
	balancerPoll = 100 * time.Millisecond
)

// TestRolling restarts two nodes behind a balancer, one after the other, again and again, under load. No request fails,
// no stream is cut, and the ledger is the provider's.
func TestRolling(t *testing.T) {
	outages(t)
	seed := seed()
	ctx, cancel := deadline(t)
	defer cancel()
	f := newFleet(ctx, t, &founding{
		bin: build(t), seed: seed, nodes: 2, server: newServer(t),
		yaml: func(provider string) string { return patientConfiguration(provider, "unused") },
	})
	defer f.close()
	f.env = append(f.env, "WEIR_DRAIN_TIMEOUT="+takeoverDrain.String(), "WEIR_DRAIN_DELAY="+rollingDelay.String())
	for _, n := range f.nodes {
		n.stop()
		n.start()
	}
	f.join("patient", "drain")
	b := newBalancer(ctx, t, f.nodes)
	f.gate = newGate()
	f.gate.open(b.address)
	working, rest := context.WithCancel(ctx)
	defer rest()
	load := f.steady(working, seed)
	for i := range *takeoversFlag {
		n := f.nodes[i%len(f.nodes)]
		n.stopBehind(b)
		n.start()
		f.eventually("the balancer sees the node", patience, func() bool { return b.sees(n) })
	}
	rest()
	receipts := load.end()
	f.awaitQuiet()
	f.stopAll() // another node's answers may be a second late in /v1/uses, those of a node that stopped are not
	for _, n := range f.nodes {
		n.start()
	}
	f.gate = f.nodes[0].gate
	all := &books{receipts: receipts}
	f.readUses(all)
	f.stopAll()
	(&storm{fleet: f}).gather(all)
	t.Logf("seed %d: %d restarts", seed, *takeoversFlag)
	noneFailed(t, all)
}

// stopBehind sends SIGTERM to a node whose gate stays open: the balancer finds out for itself.
func (n *node) stopBehind(b *balancer) {
	n.fleet.t.Helper()
	if err := n.process.Stop(); err != nil {
		n.fleet.t.Errorf("node %d: %v", n.number, err)
	}
	b.forget(n)
	n.over(gracious)
}

// balancer sends each request to a node that is ready, in turn.
type balancer struct {
	address string
	nodes   []*node
	mu      sync.Mutex
	ready   map[*node]string // the node's address
	turn    int
}

func newBalancer(ctx context.Context, t *testing.T, nodes []*node) *balancer {
	b := &balancer{nodes: nodes, ready: map[*node]string{}}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", b.next() },
		FlushInterval: -1,
		Transport:     &http.Transport{MaxIdleConnsPerHost: *streamsFlag, DisableCompression: true},
	}
	server := httptest.NewServer(proxy)
	b.address = strings.TrimPrefix(server.URL, "http://")
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	for _, n := range nodes {
		b.look(watching, n, n.base())
		watch.Go(func() {
			for watching.Err() == nil {
				if base := n.gate.pass(watching); base != "" {
					b.look(watching, n, base)
				}
				time.Sleep(balancerPoll)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		watch.Wait()
		server.Close()
		proxy.Transport.(*http.Transport).CloseIdleConnections()
	})
	return b
}

// look asks a node whether it is ready.
func (b *balancer) look(ctx context.Context, n *node, base string) {
	ready := n.fleet.get("http://"+base+"/readyz", nil, nil) == nil && ctx.Err() == nil
	b.mu.Lock()
	defer b.mu.Unlock()
	if ready {
		b.ready[n] = base
	} else {
		delete(b.ready, n)
	}
}

func (b *balancer) sees(n *node) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ready[n] != ""
}

func (b *balancer) forget(n *node) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.ready, n)
}

// next returns the address for the next request.
func (b *balancer) next() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.nodes {
		b.turn++
		if base := b.ready[b.nodes[b.turn%len(b.nodes)]]; base != "" {
			return base
		}
	}
	return net.JoinHostPort("127.0.0.1", "1") // nothing listens there
}
