//go:build unix

package provider

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/rawio"

	"weir/internal/worktest"
)

// reading is a connection that returns its bytes in pieces of at most cut.
type reading struct {
	net.Conn
	data []byte
	cut  int
}

func (r *reading) Read(p []byte) (int, error) {
	if len(r.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), r.cut)], r.data)
	r.data = r.data[n:]
	return n, nil
}

func (r *reading) Close() error { return nil }

// over returns a connection without TLS.
func over(s *socket) *conn { return newConn(s, s) }

// result holds an answer as it was read.
type result struct {
	head head
	body []byte
	err  error
	kept bool   // the connection is reused
	rest []byte // which would read this
}

// readAnswer reads an answer as an exchange does, into memory of the given size.
func readAnswer(data []byte, cut, size int) (got result) {
	w, _ := newHTTP1(&Options{BaseURL: "http://acme.example"})
	defer w.close()
	r := &reading{data: data, cut: cut}
	b := &http1Body{client: w, exchange: &exchange{}, conn: over(&socket{Conn: r}), clean: true}
	if got.head, got.err = b.readHead(); got.err != nil {
		return got
	}
	for p := make([]byte, size); got.err == nil; {
		var n int
		n, got.err = b.Read(p)
		got.body = append(got.body, p[:n]...)
	}
	if errors.Is(got.err, io.EOF) {
		got.err = nil
	}
	got.kept, got.rest = w.idle.pop(nil) != nil, r.data
	return got
}

// FuzzHTTP1Answer compares the client with net/http: an answer that both accept has the same status, header and body,
// and ends at the same byte, for all ways in which the network cuts it.
func FuzzHTTP1Answer(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.1 200 OK\nContent-Type: a\ncontent-length: 2\n\n{}HTTP/1.1",
		"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\n{}\r\n0\r\nX: y\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n00A \r\n0123456789\r\n1\r\n\n\r\n0\r\n\r\n{}",
		"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n{}",
		"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\nRetry-After: 7\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 3\r\n\r\n{}",
	} {
		f.Add([]byte(seed), 1, 5)
	}
	f.Fuzz(compareAnswer)
}

func compareAnswer(t *testing.T, data []byte, cut, size int) {
	worktest.Check(t, data, func(data []byte) { readAnswer(data, len(data)+1, 4<<10) })
	cut, size = max(1, cut), min(max(1, size), 4<<10)
	whole := readAnswer(data, len(data)+1, 4<<10)
	got := readAnswer(data, cut, size)
	same := got.err == nil && whole.err == nil && got.head == whole.head || got.err != nil && whole.err != nil
	if !same || !bytes.Equal(got.body, whole.body) {
		t.Errorf("%q: got %+v cut to %d into %d, whole %+v", data, got, cut, size, whole)
	}
	if got.err == nil {
		compareStandard(t, data, &got)
	}
}

// compareStandard skips answers that net/http refuses: it is stricter in irrelevant points.
func compareStandard(t *testing.T, data []byte, got *result) {
	src := bufio.NewReader(bytes.NewReader(data))
	res, err := http.ReadResponse(src, &http.Request{Method: http.MethodPost})
	for err == nil && res.StatusCode < 200 && res.StatusCode != http.StatusSwitchingProtocols {
		res, err = http.ReadResponse(src, &http.Request{Method: http.MethodPost})
	}
	if err != nil {
		return
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return
	}
	if got.head.status != res.StatusCode || !bytes.Equal(got.body, body) {
		t.Errorf("%q: got %d %q, net/http %d %q", data, got.head.status, got.body, res.StatusCode, body)
	}
	for _, name := range []string{"Content-Type", "Content-Encoding", "Retry-After", "Retry-After-Ms"} {
		if got, want := got.head.fields.Get(name), res.Header.Get(name); got != want {
			t.Errorf("%q: got %s %q, net/http %q", data, name, got, want)
		}
	}
	rest, _ := io.ReadAll(src)
	if got.kept && (res.Close || !bytes.Equal(got.rest, rest)) {
		t.Errorf("%q: got the connection reused before %q; net/http closes %t before %q", data, got.rest, res.Close, rest)
	}
}

// FuzzHTTP1Chunks checks the decoder of chunks, on bytes that need no head.
func FuzzHTTP1Chunks(f *testing.F) {
	f.Add([]byte("2;x\r\n{}\r\n0\r\nX: y\r\n\r\n"), 1)
	f.Add([]byte("00A \r\n0123456789\r\n1\r\n\n\r\n0\r\n\r\nrest"), 4)
	f.Add([]byte("ffffffffffffffff\r\n"), 100)
	f.Add([]byte("7fffffffffffffff\r\nx"), 100)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		head := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		compareAnswer(t, append([]byte(head), data...), cut, 64)
	})
}

// counting counts how often connections are closed.
type counting struct {
	net.Conn
	closed *atomic.Int32
}

func (c counting) Close() error { c.closed.Add(1); return nil }

func counted(closed *atomic.Int32) *conn {
	c := counting{closed: closed}
	return over(&socket{Conn: c})
}

// TestIdleConnectionsGrowOld runs on a fake clock.
func TestIdleConnectionsGrowOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p pool
		defer p.close()
		var closed atomic.Int32
		put := func() { p.put(counted(&closed)) }
		at := func(after time.Duration, want int32) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if got := closed.Load(); got != want {
				t.Errorf("got %d closed, want %d", got, want)
			}
		}
		put()
		at(60*time.Second, 0)
		put()
		at(29*time.Second, 0)
		at(time.Second, 1) // the first, after 90 s
		at(59*time.Second, 1)
		at(time.Second, 2)
		at(time.Hour, 2)
		put() // and the timer begins again
		at(89*time.Second, 2)
		at(time.Second, 3)
		old := counted(&closed)
		old.opened = time.Now().Add(-maxConnAge - 1)
		p.put(old) // is not reused
		at(0, 4)
	})
}

func TestIdleConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	var p pool
	var closed atomic.Int32
	var last *conn
	for i := range idleConnsPerHost + 10 {
		c := counted(&closed)
		p.put(c)
		if i < idleConnsPerHost {
			last = c
		}
	}
	want := func(n int32) {
		t.Helper()
		if got := closed.Load(); got != n {
			t.Errorf("got %d closed, want %d", got, n)
		}
	}
	want(10)
	if p.pop(nil) != last {
		t.Error("got another connection than the one that was put there last")
	}
	p.close()
	want(idleConnsPerHost + 9)
	p.put(last)
	want(idleConnsPerHost + 10)
	if p.pop(nil) != nil {
		t.Error("got a connection from a closed pool")
	}
}

// TestAddressesOfConnections checks the dialled address, and the address in the head of a request.
func TestAddressesOfConnections(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		base, proxy            string
		address, host, certain string // certain is the name in the certificate
		target                 string // before that of the request
	}{
		{base: "http://api.example.com/v1", address: "api.example.com:80", host: "api.example.com"},
		{base: "HTTP://API.example.com:8000", address: "API.example.com:8000", host: "API.example.com:8000"},
		{base: "http://api.example.com:/v1", address: "api.example.com:80", host: "api.example.com"},
		{base: "http://[2606:4700::1111]:8000/v1", address: "[2606:4700::1111]:8000", host: "[2606:4700::1111]:8000"},
		{base: "https://api.example.com/v1", address: "api.example.com:443", host: "api.example.com", certain: "api.example.com"},
		{base: "https://api.example.com:443/v1", address: "api.example.com:443", host: "api.example.com:443", certain: "api.example.com"},
		{base: "http://b\u00fccher.example/v1", address: "xn--bcher-kva.example:80", host: "xn--bcher-kva.example"},
		{base: "https://[fe80::1%25eth0]/v1", address: "[fe80::1%eth0]:443", host: "[fe80::1]", certain: "fe80::1"},
		{base: "http://a_b!c.example/v1", address: "a_b!c.example:80", host: "a_b!c.example"},
		{base: "http://api.example.com/v1", proxy: "http://127.0.0.1:3128", address: "api.example.com:80", host: "api.example.com", target: "http://api.example.com"},
		{base: "http://api.example.com/v1", proxy: "socks5://127.0.0.1", address: "api.example.com:80", host: "api.example.com"},
		{base: "https://api.example.com/v1", proxy: "http://127.0.0.1:3128", address: "api.example.com:443", host: "api.example.com", certain: "api.example.com"},
	} {
		w, err := newHTTP1(&Options{BaseURL: tc.base, Proxy: tc.proxy})
		if err != nil {
			t.Errorf("%s: %v", tc.base, err)
			continue
		}
		certain := ""
		if w.route.secure != nil {
			certain = w.route.secure.ServerName
		}
		head := " HTTP/1.1\r\nHost: " + tc.host + "\r\n"
		if w.route.address != tc.address || w.head != head || certain != tc.certain || w.origin != tc.target {
			t.Errorf("%s by %q: got %q, %q, %q, %q; want %q, %q, %q, %q", tc.base, tc.proxy, w.route.address, w.head, certain, w.origin, tc.address, head, tc.certain, tc.target)
		}
	}
	if _, err := newHTTP1(&Options{BaseURL: "http://b\u00fccher\u200d.example"}); err == nil {
		t.Error("a host without an ASCII form: got no error")
	}
}

// leave is leave to make an attempt.
type leave struct{}

func (leave) Use() error { return nil }

// TestDialIsAborted checks every end of an exchange whose connection is still being opened: here by a name server that
// does not answer.
func TestDialIsAborted(t *testing.T) {
	t.Parallel()
	const soon, late = 50 * time.Millisecond, time.Hour
	for _, tc := range []struct {
		name     string
		timeouts Timeouts
		patience time.Duration // of the caller
		want     Kind
		message  string
	}{
		{"connect", Timeouts{Connect: soon}, late, KindConnectTimeout, "accepted no connection within 50ms"},
		{"first byte", Timeouts{Connect: late, FirstByte: soon}, late, KindConnectTimeout, "accepted no connection within 50ms"},
		{"total", Timeouts{Connect: late, Total: soon}, late, KindTotalTimeout, "within 50ms"},
		{"caller", Timeouts{Connect: late}, soon, KindCanceled, "cancelled"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := newInternal(t, Options{BaseURL: "http://acme.example", Timeouts: tc.timeouts})
			silent := func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			p.wire.(*http1).route.dialer.Resolver = &net.Resolver{PreferGo: true, Dial: silent}
			ctx, cancel := context.WithTimeout(t.Context(), tc.patience)
			defer cancel()
			if _, f := readAll(p.Do(ctx, Call{Op: llm.OpChat, Hold: leave{}})); f == nil || f.Kind != tc.want || f.Sent() {
				t.Errorf("got %v, sent %t; want %v, not sent", f, f.Sent(), tc.want)
			} else if !strings.Contains(f.Error(), tc.message) {
				t.Errorf("got %q, want %q in it", f, tc.message)
			}
		})
	}
}

// broken is a connection that accepts a number of bytes, and returns others.
type broken struct {
	reading
	takes int
}

func (c *broken) Write(p []byte) (int, error) {
	return min(c.takes, len(p)), syscall.EPIPE
}

// quiet is a connection without received data.
type quiet struct{ syscall.RawConn }

func (quiet) Read(func(uintptr) bool) error { return nil }

// TestBrokenWrite checks that a request is sent again only if no byte of it was sent, and that an answer received
// before the write broke counts.
func TestBrokenWrite(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		takes    int
		gives    string
		body     int
		answer   string
		kind     Kind
		requests int32 // at the provider, over another connection
	}{
		{"nothing out", 0, "", 2, "fresh", 0, 1},
		{"nothing of a longer one out", 0, "", 60_000, "fresh", 0, 1},
		{"some out", 5, "", 2, "", KindReset, 0},
		{"some of a longer one out", 5, "", 60_000, "", KindReset, 0},
		{"some out, an answer", 5, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly", 2, "early", 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				w.Header()["Content-Type"] = nil
				_, _ = io.WriteString(w, "fresh")
			}))
			defer server.Close()
			p := newInternal(t, Options{BaseURL: server.URL, AllowPrivate: true})
			idle := &p.wire.(*http1).idle
			c := &broken{reading{data: []byte(tc.gives), cut: 100}, tc.takes}
			idle.put(over(&socket{Conn: c, raw: quiet{}, err: rawio.ErrNothingNow}))
			got, f := readAll(p.Do(t.Context(), Call{Op: llm.OpChat, Hold: leave{}, Body: make([]byte, tc.body)}))
			if string(got) != tc.answer || requests.Load() != tc.requests {
				t.Errorf("got %q, %v, %d requests; want %q, %d", got, f, requests.Load(), tc.answer, tc.requests)
			}
			if tc.kind != 0 && (f == nil || f.Kind != tc.kind || !f.Sent()) {
				t.Errorf("got %v, want %v of a request that was sent", f, tc.kind)
			}
			if kept := idle.pop(nil); kept != nil && kept.socket.Conn == net.Conn(c) {
				t.Error("the broken connection was reused")
			} else if kept != nil {
				_ = kept.Close()
			}
		})
	}
}

func readAll(r *Response, err error) ([]byte, *Failure) {
	var text []byte
	if err == nil {
		text, err = r.ReadAll()
	}
	if err != nil {
		return nil, AsFailure(err)
	}
	return text, nil
}

func newInternal(t *testing.T, o Options) *Provider {
	t.Helper()
	o.Name = "acme"
	o.Dialect = &dialect.Dialect{Operation: dialect.Operation{Path: func(string, bool) string { return "/" }}}
	p := must.Get(New(o))(t)
	t.Cleanup(p.Close)
	return p
}
