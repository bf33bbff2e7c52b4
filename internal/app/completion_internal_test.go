package app

import (
	"bytes"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"weir/internal/httpserver"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
	"weir/internal/provider"
	"weir/internal/route"
	"weir/internal/worktest"
)

// replying returns the address of a provider that answers every request with the same bytes.
func replying(tb testing.TB, body string) string {
	ln := must.Get(net.Listen("tcp", "127.0.0.1:0"))(tb)
	tb.Cleanup(func() { _ = ln.Close() })
	reply := []byte(fmt.Sprintf("HTTP/1.1 200 OK\r\ndate: Fri, 20 Nov 2026 12:00:00 GMT\r\ncontent-length: %d\r\n"+
		"content-type: application/json\r\n\r\n%s", len(body), body))
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				buf := make([]byte, 16<<10)
				for err := error(nil); err == nil; {
					if _, err = c.Read(buf); err == nil { // every request arrives in one write
						_, err = c.Write(reply)
					}
				}
				_ = c.Close()
			}()
		}
	}()
	return ln.Addr().String()
}

// completion starts a gateway between a client's connection and a provider's. It returns a function that completes one
// request, which is passed through, without the projection.
func completion(tb testing.TB) (once func()) {
	ln, key := relaying(tb, "openai", replying(tb, wholeReply))
	body := `{"model":"house/m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"` +
		strings.Repeat("Hello! ", 80) + `"}]}`
	request := posted("/v1/chat/completions", key, body)
	c := must.Get(net.Dial("tcp", ln))(tb)
	tb.Cleanup(func() { _ = c.Close() })
	buf := make([]byte, 16<<10)
	once = func() { roundTrip(tb, c, request, buf) }
	for range 100 {
		once()
	}
	return once
}

// relaying starts a gateway on a socket, with a provider of a wire format at an address. It returns the gateway's
// address and a key.
func relaying(tb testing.TB, wire, at string) (listening, key string) {
	g, key := pipeline(tb, canned{})
	p := must.Get(provider.New(provider.Options{
		Name: "house", Dialect: g.upstream.Dialects().Named(wire), BaseURL: "http://" + at + "/v1",
		APIKeys: []llm.Secret{llm.NewSecret("sk-canned")}, AllowPrivate: true,
	}))(tb)
	tb.Cleanup(p.Close)
	book := must.Get(pricing.NewBook(pricing.Overrides{
		Prices: map[string]pricing.PriceOverride{"house/*": {"input": "0.15", "output": "0.60"}},
	}))(tb)
	g.router.Use(must.Get(route.NewTable(route.Options{
		Providers: []*provider.Provider{p}, Book: book, DefaultMaxOutput: 8192,
	}))(tb))
	ln := must.Get(net.Listen("tcp", "127.0.0.1:0"))(tb)
	s := httpserver.New(httpserver.Options{
		Handler: g.site.handler(), Most: 1000, MaxHead: 1 << 20, HeadTime: time.Minute, IdleTime: time.Minute,
	})
	go func() { _ = s.Serve(ln) }()
	tb.Cleanup(func() { _ = s.Close() })
	return ln.Addr().String(), key
}

// posted returns the bytes of a request.
func posted(path, key, body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nAccept: text/event-stream\r\nContent-Length: %d\r\n\r\n%s",
		path, key, len(body), body)
}

// BenchmarkCompletion measures a whole completion from socket to socket.
func BenchmarkCompletion(b *testing.B) {
	once := completion(b)
	b.ReportAllocs()
	for b.Loop() {
		once()
	}
}

// TestCompletionAllocationsFromSocketToSocket bounds the allocations of a whole completion that is passed through, and
// their bytes. It is not parallel, because it counts for the whole process.
func TestCompletionAllocationsFromSocketToSocket(t *testing.T) {
	worktest.NotRaced(t) // the race detector empties pools
	const most, mostBytes, runs = 21, 1500, 500
	once := completion(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := testing.AllocsPerRun(runs, once)
	runtime.ReadMemStats(&after)
	bytes := (after.TotalAlloc - before.TotalAlloc) / (runs + 1)
	t.Logf("%v allocations, %d bytes", got, bytes)
	if got > most || bytes > mostBytes {
		t.Errorf("%v allocations of %d bytes a request, want at most %d of %d", got, bytes, most, mostBytes)
	}
}

// roundTrip sends a request and reads its answer, without allocating.
func roundTrip(tb testing.TB, c net.Conn, request, buf []byte) {
	_, _ = c.Write(request)
	for n, end := 0, -1; end < 0 || n < end; {
		more, err := c.Read(buf[n:])
		if err != nil {
			tb.Fatal(err)
		}
		n += more
		head, _, whole := bytes.Cut(buf[:n], []byte("\r\n\r\n"))
		if !whole {
			continue
		}
		_, length, _ := bytes.Cut(head, []byte("Content-Length: "))
		end = len(head) + 4
		for size := 0; ; length = length[1:] {
			if len(length) == 0 || length[0] < '0' || length[0] > '9' {
				end += size
				break
			}
			size = 10*size + int(length[0]-'0')
		}
	}
	if !bytes.HasPrefix(buf, []byte("HTTP/1.1 200 ")) {
		tb.Fatalf("%s", buf)
	}
}
