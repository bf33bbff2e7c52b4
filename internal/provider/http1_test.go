package provider_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/provider"
)

// TestStaleConnections checks that a connection that the provider closed, or wrote to, while it was idle costs a new
// one and nothing else.
func TestStaleConnections(t *testing.T) {
	t.Parallel()
	const answer = ok1 + length2 + "\r\n{}"
	for name, spoil := range map[string]func(net.Conn){
		"closed":  func(c net.Conn) { _ = c.(*net.TCPConn).CloseWrite() },
		"reset":   func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0); _ = c.Close() },
		"garbage": func(c net.Conn) { _, _ = io.WriteString(c, answer) },
	} {
		overTransportsNamed(t, name, func(t *testing.T, way transport) {
			const together = 8
			spoiled, others := make(chan struct{}, together), make(chan struct{})
			idle := make(chan struct{}, together)
			u := &upstream{text: answer}
			u.before = func(n int32) { // so that each has a connection of its own
				late := time.After(patience)
				if n%together != 0 {
					select {
					case <-others:
					case <-late:
					}
					return
				}
				for range together - 1 {
					select {
					case others <- struct{}{}:
					case <-late:
					}
				}
			}
			u.after = func(c net.Conn) {
				select {
				case <-idle:
				case <-time.After(patience):
				}
				spoil(c)
				spoiled <- struct{}{}
			}
			p := way.provider(t, provider.Options{BaseURL: u.start(t)})
			ask := func() {
				if got, f := exchange(t.Context(), p, chat(false)); f != nil || string(got) != "{}" {
					t.Errorf("got %q, %v; want {}", got, f)
				}
			}
			for round := range 2 {
				var wg sync.WaitGroup
				for range together {
					wg.Go(ask)
				}
				wg.Wait()
				for range together {
					idle <- struct{}{}
				}
				for range together {
					select {
					case <-spoiled:
					case <-time.After(patience):
						t.Fatal("a request got no answer")
					}
				}
				for end := time.Now().Add(patience); p.Quiet() > 0; time.Sleep(time.Millisecond) {
					if time.Now().After(end) {
						t.Fatalf("%d connections have not heard that they are spoiled", p.Quiet())
					}
				}
				if n := u.requests.Load(); n != int32(together*(round+1)) {
					t.Errorf("got %d requests, want %d", n, together*(round+1))
				}
			}
		})
	}
}

// TestNothingIsSentTwice checks that a request that was sent on a reused connection is not sent again when that breaks:
// the provider may be processing it.
func TestNothingIsSentTwice(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		u := &upstream{text: ok1 + length2 + "\r\n{}", diesAt: 2}
		p := way.provider(t, provider.Options{BaseURL: u.start(t)})
		if _, f := exchange(t.Context(), p, chat(false)); f != nil {
			t.Fatal(f)
		}
		time.Sleep(20 * time.Millisecond)
		_, f := exchange(t.Context(), p, chat(false))
		if f == nil || f.Kind != provider.KindReset || !f.Sent() {
			t.Errorf("got %v, want %v of a request that was sent", f, provider.KindReset)
		}
		if n := u.requests.Load(); n != 2 {
			t.Errorf("got %d requests, want 2", n)
		}
	})
}

// TestBodiesOfAllSizes checks that every request arrives whole, and that connections are reused.
func TestBodiesOfAllSizes(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		var conns atomic.Int32
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			body, _ := io.ReadAll(r.Body)
			_, _ = w.Write(body)
		}))
		server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				conns.Add(1)
			}
		}
		server.Start()
		t.Cleanup(server.Close)
		p := way.provider(t, provider.Options{BaseURL: server.URL})
		for _, size := range []int{0, 1, 3 << 10, 4 << 10, 5 << 10, 64 << 10, 64<<10 + 1, 1 << 20, 8 << 20, 1} {
			c := chat(false)
			c.Body = bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
			got, f := exchange(t.Context(), p, c)
			if f != nil || !bytes.Equal(got, c.Body) {
				t.Errorf("%d bytes: got %d bytes, equal %t, %v", size, len(got), bytes.Equal(got, c.Body), f)
			}
		}
		// The answer to a body that is written concurrently may be read before the writer knows that it is done; then
		// the connection is not reused.
		const beside = 3
		if n := conns.Load(); n > 1+beside {
			t.Errorf("got %d connections, want 1, and at most one more for each of %d large bodies", n, beside)
		}
	})
}

// TestEarlyRefusal checks that an answer counts that arrives while the request is still being sent to a provider that
// stopped reading.
func TestEarlyRefusal(t *testing.T) {
	t.Parallel()
	refusal := whole("413 Content Too Large", "Connection: close\r\n", errorText)
	for name, hangUp := range map[string]bool{"and hangs": false, "and closes": true} {
		overTransportsNamed(t, name, func(t *testing.T, way transport) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			must.Do(t, err)
			over := make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				defer func() { _ = c.Close() }()
				_, _ = c.Read(make([]byte, 1<<10))
				_, _ = io.WriteString(c, refusal)
				if hangUp {
					_ = c.(*net.TCPConn).CloseWrite()
				}
				<-over
			})
			defer func() { _ = ln.Close(); close(over); wg.Wait() }()
			limits := brief(func(t *provider.Timeouts) { t.FirstByte = patience / 4 })
			p := way.provider(t, provider.Options{BaseURL: "http://" + ln.Addr().String(), Timeouts: limits})
			c := chat(false)
			c.Body = make([]byte, 32<<20)
			_, f := exchange(t.Context(), p, c)
			if f == nil || f.Status != http.StatusRequestEntityTooLarge {
				t.Errorf("got %v, want 413", f)
			}
		})
	}
}

// TestLeavingAProviderThatDoesNotRead checks that a write is aborted, too.
func TestLeavingAProviderThatDoesNotRead(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		must.Do(t, err)
		ctx, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			defer func() { _ = c.Close() }()
			_, _ = c.Read(make([]byte, 1))
			time.Sleep(20 * time.Millisecond)
			leave()
			<-t.Context().Done()
		})
		t.Cleanup(func() {
			_ = ln.Close()
			wg.Wait()
		})
		p := way.provider(t, provider.Options{BaseURL: "http://" + ln.Addr().String()})
		c := chat(false)
		c.Body = make([]byte, 32<<20)
		_, f := exchange(ctx, p, c)
		if f == nil || f.Kind != provider.KindCanceled || !f.Sent() {
			t.Errorf("got %v, want %v of a request that was sent", f, provider.KindCanceled)
		}
	})
}

// TestManyAtOnce checks that no exchange gets another's answer, nor ends another's, while some leave and others are
// refused.
func TestManyAtOnce(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			id := r.Header.Get("X-Client-Request-Id")
			w.Header().Set("Content-Type", r.Header.Get("Accept"))
			for range 3 {
				_, _ = io.WriteString(w, id+"\n")
				_ = http.NewResponseController(w).Flush()
			}
		}))
		t.Cleanup(server.Close)
		p := way.provider(t, provider.Options{BaseURL: server.URL})
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				c := chat(i%2 == 0)
				c.AttemptID = fmt.Sprintf("attempt-%d", i)
				res, err := p.Do(ctx, c)
				if err != nil {
					t.Errorf("%d: %v", i, err)
					return
				}
				defer func() { _ = res.Body.Close() }()
				if i%5 == 0 {
					cancel() // in the middle of the answer, or after its end
				}
				got, err := io.ReadAll(res.Body)
				want := strings.Repeat(c.AttemptID+"\n", 3)
				if err != nil && i%5 == 0 && strings.HasPrefix(want, string(got)) {
					return
				}
				if err != nil || string(got) != want {
					t.Errorf("%d: got %q, %v; want %q", i, got, err, want)
				}
			})
		}
		wg.Wait()
	})
}

// TestCancelAndReuse checks that a late cancellation of one exchange never ends the next one on its connection.
func TestCancelAndReuse(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		u := &upstream{text: ok1 + length2 + "\r\n{}"}
		p := way.provider(t, provider.Options{BaseURL: u.start(t)})
		for i := range 100 {
			ctx, cancel := context.WithCancel(t.Context())
			res, err := p.Do(ctx, chat(false))
			if err != nil {
				t.Fatalf("%d: %v", i, err)
			}
			go cancel()
			_, _ = res.ReadAll()
			if got, f := exchange(t.Context(), p, chat(false)); f != nil || string(got) != "{}" {
				t.Fatalf("%d: got %q, %v; want {}", i, got, f)
			}
		}
	})
}

// TestEndMarkerIsTheEnd checks that the connection of a stream is reused if its reader stops at the last event, before
// the framing has ended.
func TestEndMarkerIsTheEnd(t *testing.T) {
	t.Parallel()
	const done = "data: [DONE]\n\n"
	for name, cut := range map[string]int{"together": 0, "in two": len(chunkHead + "e\r\n" + done + "\r\n")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := &upstream{text: chunkHead + "e\r\n" + done + "\r\n" + lastOne, cut: cut}
			p := newProvider(t, provider.Options{BaseURL: u.start(t)})
			for range 3 {
				res := must.Get(p.Do(t.Context(), chat(true)))(t)
				got := make([]byte, len(done))
				if _, err := io.ReadFull(res.Body, got); err != nil || string(got) != done {
					t.Errorf("got %q, %v; want %q", got, err, done)
				}
				time.Sleep(20 * time.Millisecond)
				_ = res.Body.Close()
			}
			if n := u.conns.Load(); n != 1 {
				t.Errorf("got %d connections, want 1", n)
			}
		})
	}
}

// TestCloseOfAProvider checks that exchanges in flight continue, and that their connections are not reused.
func TestCloseOfAProvider(t *testing.T) {
	t.Parallel()
	u := &upstream{text: ok1 + length2 + "\r\n{}"}
	p := newProvider(t, provider.Options{BaseURL: u.start(t)})
	res := must.Get(p.Do(t.Context(), chat(false)))(t)
	p.Close()
	if got, err := res.ReadAll(); err != nil || string(got) != "{}" {
		t.Errorf("got %q, %v; want {}", got, err)
	}
	if _, f := exchange(t.Context(), p, chat(false)); f != nil {
		t.Error(f)
	}
	if n := u.conns.Load(); n != 2 {
		t.Errorf("got %d connections, want 2", n)
	}
}

// TestNoInjection checks that no text of a caller ends a line of the request.
func TestNoInjection(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		lines := make(chan string, 1)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			lines <- r.Host + " " + r.RequestURI
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{}")
		}))
		t.Cleanup(server.Close)
		o := provider.Options{
			Name: "acme", BaseURL: server.URL + "/v1beta/", AllowPrivate: true, APIKeys: []llm.Secret{llm.NewSecret(testKey)},
			Dialect: &dialect.Dialect{Name: "x", Operation: dialect.Operation{Path: func(model string, _ bool) string { return "/models/" + model + ":go?alt=sse" }}},
		}
		way.reach(t, &o)
		p := must.Get(provider.New(o))(t)
		t.Cleanup(p.Close)
		_, host, _ := strings.Cut(strings.TrimSuffix(o.BaseURL, "/v1beta/"), "://")
		for model, want := range map[string]string{
			"small": "small", "a b": "a%20b", "ä": "%C3%A4", "a%2Fb": "a%2Fb", "a:b@c": "a:b@c", "[x]": "[x]", "@evil.example": "@evil.example",
		} {
			c := chat(false)
			c.Model = model
			if _, f := exchange(t.Context(), p, c); f != nil {
				t.Errorf("%q: %v", model, f)
				continue
			}
			if got := <-lines; got != host+" /v1beta/models/"+want+":go?alt=sse" {
				t.Errorf("%q: got %q, want %q", model, got, want)
			}
		}
		for name, change := range map[string]func(*provider.Call){
			"model":   func(c *provider.Call) { c.Model = "x HTTP/1.1\r\nX: y" },
			"query":   func(c *provider.Call) { c.Model = "x? HTTP/1.0" },
			"letter":  func(c *provider.Call) { c.Model = "x?ä" },
			"percent": func(c *provider.Call) { c.Model = "%zz" },
			"attempt": func(c *provider.Call) { c.AttemptID = "1\r\nX: y" },
			"LF":      func(c *provider.Call) { c.AttemptID = "1\nX: y" },
			"NUL":     func(c *provider.Call) { c.AttemptID = "1\x00" },
		} {
			c := chat(false)
			change(&c)
			_, f := exchange(t.Context(), p, c)
			if f == nil || f.Sent() || !f.Ours() || c.Hold.(*permit).used != 0 {
				t.Errorf("%s: got %v with the hold used %d times, want a failure of our own", name, f, c.Hold.(*permit).used)
			}
		}
	})
}
