package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"weir/internal/must"
)

// TestTurnsShareTheLoad checks that each contender answers as many requests as the others, on connections that stay
// open, and that a round counts only its own.
func TestTurnsShareTheLoad(t *testing.T) {
	t.Parallel()
	const rounds = 3
	k := kind{name: "test", clientAPI: "completions", model: wholeModel, conns: 4, slice: 25, slices: 6}
	var asked, opened [2]atomic.Int64
	var all []*contender
	for i := range asked {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked[i].Add(1)
			_, _ = w.Write([]byte("{}"))
		}))
		s.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context { opened[i].Add(1); return ctx }
		s.Start()
		t.Cleanup(s.Close)
		addr := must.Get(netip.ParseAddrPort(strings.TrimPrefix(s.URL, "http://")))(t)
		c := must.Get(k.contender(t.Context(), &subject{name: "test", target: addr}))(t)
		t.Cleanup(c.close)
		all = append(all, c)
	}
	for round := range rounds {
		must.Do(t, k.round(t.Context(), round, all))
	}
	for i, c := range all {
		if got, want := asked[i].Load(), int64(k.slice*(1+rounds*k.slices)); got != want || c.loop.failed != 0 {
			t.Errorf("contender %d got %d requests with %d failures, want %d: one turn to open the connections, and the rounds", i, got, c.loop.failed, want)
		}
		if got := opened[i].Load(); got > int64(k.conns) {
			t.Errorf("contender %d: %d connections were opened, want at most %d", i, got, k.conns)
		}
		if len(c.rate) != rounds || c.rate[0] <= 0 {
			t.Errorf("contender %d: rates %v, want one of each round", i, c.rate)
		}
	}
}

// TestTurnsCountRounds checks that the duration of a round is divided by its own answers.
func TestTurnsCountRounds(t *testing.T) {
	t.Parallel()
	c := &contender{loop: &loop{o: &loadOptions{}}, took: 2e9}
	c.loop.count.requests, c.watch.cpu = 1000, 5e9
	c.end()
	c.loop.count.requests, c.watch.cpu, c.took = 500, 5e9, 1e9
	c.end()
	if c.cpu[0] != 5000 || c.cpu[1] != 10000 || c.rate[0] != 500 || c.rate[1] != 500 {
		t.Errorf("got %v µs a request and %v requests a second, want [5000 10000] and [500 500]", c.cpu, c.rate)
	}
}
