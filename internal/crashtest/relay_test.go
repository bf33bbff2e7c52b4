//go:build linux

package crashtest_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"weir/internal/must"
)

// relay forwards connections to a server. Its outages look like a restart of the server: all connections are reset, and
// for a moment there are no new ones.
type relay struct {
	to, address string
	running     sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener // nil in an outage
	open     map[net.Conn]bool
	outages  []interval
}

func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	r := &relay{to: to, address: "127.0.0.1:0", open: map[net.Conn]bool{}}
	must.Do(t, r.begin())
	t.Cleanup(func() {
		r.breakOff()
		r.running.Wait()
	})
	return r
}

func (r *relay) begin() error {
	listener, err := net.Listen("tcp", r.address)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listener, r.address = listener, listener.Addr().String()
	r.running.Go(func() { r.accept(listener) })
	return nil
}

func (r *relay) accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return // the outage
		}
		server, err := net.Dial("tcp", r.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		if !r.keep(listener, client, server) {
			return
		}
		for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
			r.running.Go(func() {
				_, _ = io.Copy(pair[1], pair[0])
				r.forget(client, server)
			})
		}
	}
}

// keep reports whether no outage came first.
func (r *relay) keep(listener net.Listener, pair ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range pair {
		if r.listener == listener {
			r.open[c] = true
		} else {
			_ = c.Close()
		}
	}
	return r.listener == listener
}

func (r *relay) forget(pair ...net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range pair {
		_ = c.Close()
		delete(r.open, c)
	}
}

// breakOff begins an outage.
func (r *relay) breakOff() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listener == nil {
		return
	}
	_ = r.listener.Close()
	r.listener = nil
	for c := range r.open {
		_ = c.(*net.TCPConn).SetLinger(0) // a reset, as of a killed process
		_ = c.Close()
	}
}

// restart simulates one outage.
func (r *relay) restart(d time.Duration) error {
	began := time.Now()
	r.breakOff()
	time.Sleep(d)
	err := r.begin()
	r.outages = append(r.outages, interval{began, time.Now()})
	return err
}
