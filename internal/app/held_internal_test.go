package app

import (
	"bytes"
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"weir/internal/dialect"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/must"
	"weir/internal/worktest"
)

// holding is a provider that answers each request with the begin of a stream and sends no more. It uses no goroutine
// for a connection.
type holding struct {
	listener net.Listener
	begin    []byte
	conns    []net.Conn
}

func newHolding(tb testing.TB, d *dialect.Dialect) *holding {
	tb.Helper()
	c := begun(d, 2)
	h := &holding{listener: must.Get(net.Listen("tcp", "127.0.0.1:0"))(tb)}
	must.Do(tb, h.listener.(*net.TCPListener).SetDeadline(time.Now().Add(time.Minute)))
	h.begin = fmt.Appendf(nil, "HTTP/1.1 200 OK\r\ncontent-type: %s\r\n\r\n%s", c.header.Get("Content-Type"), c.body)
	return h
}

// hold accepts a connection, reads its request and begins the answer.
func (h *holding) hold(tb testing.TB, buf []byte) {
	tb.Helper()
	c := must.Get(h.listener.Accept())(tb)
	h.conns = append(h.conns, c)
	must.Do(tb, c.SetDeadline(time.Now().Add(time.Minute)))
	must.Get(c.Read(buf))(tb)
	must.Get(c.Write(h.begin))(tb)
}

// closeAll closes all connections, and waits until the gateway has ended their streams: until about so many goroutines run.
func (h *holding) closeAll(goroutines int) {
	_ = h.listener.Close()
	for _, c := range h.conns {
		_ = c.Close()
	}
	const others = 10 // that the gateway has started meanwhile
	for until := time.Now().Add(2 * time.Second); runtime.NumGoroutine() > goroutines+others; {
		if time.Now().After(until) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// TestHeldStreamNeedsLittleMemory bounds the memory of a stream that waits for its next piece, at each client API and
// of any provider's wire format: the stack of its goroutine, which would be 16 KB after a call that needs more than 8,
// and its part of the heap. It is not parallel, because it counts for the whole process.
func TestHeldStreamNeedsLittleMemory(t *testing.T) {
	worktest.NotRaced(t) // the race detector's frames are larger
	const mostStack, mostHeap = 12 << 10, 26 << 10
	for _, pair := range heldPairs() {
		stack, heap := heldStream(t, pair.clientAPI, pair.from)
		t.Logf("%s from %s: %d bytes of stack and %d of the heap", pair.clientAPI, pair.from, stack, heap)
		if stack > mostStack || heap > mostHeap {
			t.Errorf("%s from %s: a held stream takes %d bytes of stack and %d of the heap, want at most %d and %d",
				pair.clientAPI, pair.from, stack, heap, mostStack, mostHeap)
		}
	}
}

type heldPair struct{ clientAPI, from string }

// heldPairs lists each client API once, and each provider's wire format: a request is read and an answer is decoded one
// after the other, so that the deepest call belongs to one of them.
func heldPairs() (pairs []heldPair) {
	for clientAPI := range clientAsks {
		pairs = append(pairs, heldPair{clientAPI, "openai"})
	}
	for _, from := range providersSpeak {
		pairs = append(pairs, heldPair{"native", from})
	}
	return pairs
}

// heldStream returns the memory of a held stream in bytes, as the mean of many.
func heldStream(t *testing.T, clientAPI, from string) (stack, heap int64) {
	t.Helper()
	const first, streams = 10, 80
	provider := newHolding(t, registrytest.All().Named(from))
	at, key := relaying(t, from, provider.listener.Addr().String())
	defer provider.closeAll(runtime.NumGoroutine())
	request, buf := posted(clientAsks[clientAPI].path, key, clientAsks[clientAPI].body), make([]byte, 16<<10)
	open := func() {
		c := must.Get(net.Dial("tcp", at))(t)
		provider.conns = append(provider.conns, c)
		must.Do(t, c.SetDeadline(time.Now().Add(time.Minute)))
		must.Get(c.Write(request))(t)
		provider.hold(t, buf)
		for n := 0; bytes.Count(buf[:n], []byte(" help")) < 2; {
			n += must.Get(c.Read(buf[n:]))(t)
		}
	}
	for range first { // fills the pools
		open()
	}
	before := settledMemory()
	for range streams {
		open()
	}
	after := settledMemory()
	return int64(after.StackInuse-before.StackInuse) / streams, int64(after.HeapAlloc-before.HeapAlloc) / streams
}

func settledMemory() (m runtime.MemStats) {
	for range 3 { // a collection shrinks stacks of which little is used, and empties pools in two steps
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m
}
