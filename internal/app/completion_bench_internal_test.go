package app

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"

	"weir/internal/front"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
	"weir/internal/provider"
	"weir/internal/route"
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

// BenchmarkCompletion measures a whole completion that is passed through, from the client's connection to the
// provider's, without the projection.
func BenchmarkCompletion(b *testing.B) {
	g, key := pipeline(b, canned{})
	p := must.Get(provider.New(provider.Options{
		Name: "house", Dialect: g.upstream.Dialects().Named("openai"), BaseURL: "http://" + replying(b, wholeReply) + "/v1",
		APIKeys: []llm.Secret{llm.NewSecret("sk-canned")}, AllowPrivate: true,
	}))(b)
	b.Cleanup(p.Close)
	book := must.Get(pricing.NewBook(pricing.Overrides{
		Prices: map[string]pricing.PriceOverride{"house/*": {"input": "0.15", "output": "0.60"}},
	}))(b)
	g.router.Use(must.Get(route.NewTable(route.Options{
		Providers: []*provider.Provider{p}, Book: book, DefaultMaxOutput: 8192,
	}))(b))
	ln := must.Get(net.Listen("tcp", "127.0.0.1:0"))(b)
	s := front.New(front.Options{
		Handler: g.site.handler(), Most: 100, MaxHead: 1 << 20, HeadTime: 1 << 40, IdleTime: 1 << 40, Base: context.Background(),
	})
	go func() { _ = s.Serve(ln) }()
	b.Cleanup(func() { _ = s.Close() })
	body := `{"model":"house/m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"` +
		strings.Repeat("Hello! ", 80) + `"}]}`
	request := []byte(fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", key, len(body), body))
	c := must.Get(net.Dial("tcp", ln.Addr().String()))(b)
	defer func() { _ = c.Close() }()
	buf := make([]byte, 16<<10)
	once := func() { roundTrip(b, c, request, buf) }
	for range 100 {
		once()
	}
	runtime.GC()
	b.ReportAllocs()
	for b.Loop() {
		once()
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
