package httpserver_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/httpserver"
	"weir/internal/must"
)

// ways returns clients for all ways to reach a handler: they must look the same to the handler and to clients.
func ways(t *testing.T, h http.HandlerFunc) map[string]*http.Client {
	t.Helper()
	example := httptest.NewTLSServer(nil)
	example.Close()
	secure := &tls.Config{Certificates: example.TLS.Certificates, MinVersion: tls.VersionTLS12}
	_, plain := started(t, httpserver.Options{Handler: h})
	_, over := started(t, httpserver.Options{Handler: h, Secure: secure})
	all := map[string]*http.Client{}
	for name, protos := range map[string][]string{"HTTP/1.1": nil, "HTTP/1.1 over TLS": {"http/1.1"}, "HTTP/2": {"h2"}} {
		transport := &http.Transport{
			TLSClientConfig: example.Client().Transport.(*http.Transport).TLSClientConfig.Clone(), ForceAttemptHTTP2: name == "HTTP/2",
			DisableCompression: true, ExpectContinueTimeout: 10 * time.Second,
		}
		address := over
		if transport.TLSClientConfig.NextProtos = protos; protos == nil {
			address = plain
		}
		transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
		t.Cleanup(transport.CloseIdleConnections)
		all[name] = &http.Client{Timeout: 20 * time.Second, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}
	}
	return all
}

func urlOf(way string) string {
	if way == "HTTP/1.1" {
		return "http://example.com"
	}
	return "https://example.com"
}

// TestConformanceWithNetHTTP checks the promises of RFC 9110 and net/http about a request and its answer, over each
// way.
func TestConformanceWithNetHTTP(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("0123456789abcdef", 64<<10)
	handler := func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		switch r.URL.Path {
		case "/echo":
			body, err := io.ReadAll(r.Body)
			h.Set("X-Request", fmt.Sprint([]any{r.Method, r.Host, r.URL.RawQuery, r.ContentLength, r.Header.Get("X-One"), r.Header["X-Two"], err}))
			h["X-Values"] = []string{"a", "b"}
			_, _ = w.Write(body)
		case "/whole":
			h.Set("Content-Length", fmt.Sprint(len(large)))
			h.Set("Content-Type", "text/x-large")
			_, _ = io.WriteString(w, large[:100])
			_, _ = io.WriteString(w, large[100:])
		case "/pieces":
			for i := range 10 {
				_, _ = io.WriteString(w, large[i*(len(large)/10):(i+1)*(len(large)/10)])
			}
			_, _ = io.WriteString(w, large[len(large)/10*10:])
		case "/nothing":
		case "/no content":
			w.WriteHeader(http.StatusNoContent)
			if _, err := io.WriteString(w, "x"); !errors.Is(err, http.ErrBodyNotAllowed) {
				t.Errorf("a body of 204: got %v, want %v", err, http.ErrBodyNotAllowed)
			}
		case "/not modified":
			h.Set("Etag", `"x"`)
			w.WriteHeader(http.StatusNotModified)
		case "/late header":
			w.WriteHeader(http.StatusTeapot)
			h.Set("X-Late", "x")
		case "/lines":
			h.Set("X-Split", "a\r\nX-Injected: b")
		case "/unread":
			_, _ = io.WriteString(w, "before the body was read")
		}
	}
	for _, tt := range []struct {
		name, method, path, body string
		header                   http.Header
		status                   int
		want                     string            // the body
		has                      map[string]string // in the header; empty for absent ones
		length                   int64
	}{
		{
			name: "a body", method: "POST", path: "/echo?a=b%20c", body: "hello", header: http.Header{"X-One": {"1"}, "X-Two": {"2", "3"}},
			status: 200, want: "hello", has: map[string]string{"X-Request": "[POST example.com a=b%20c 5 1 [2 3] <nil>]", "Content-Type": "text/plain; charset=utf-8"}, length: 5,
		},
		{name: "a large body", method: "PUT", path: "/echo", body: large, status: 200, want: large, length: -1},
		{name: "a body that is waited for", method: "POST", path: "/echo", body: "hello", header: http.Header{"Expect": {"100-continue"}}, status: 200, want: "hello", length: 5},
		{name: "no body", method: "GET", path: "/echo", status: 200, has: map[string]string{"X-Request": "[GET example.com  0  [] <nil>]"}},
		{name: "a long answer", method: "GET", path: "/whole", status: 200, want: large, has: map[string]string{"Content-Type": "text/x-large"}, length: int64(len(large))},
		{name: "its head", method: "HEAD", path: "/whole", status: 200, length: int64(len(large))},
		{name: "an answer of unknown length", method: "GET", path: "/pieces", status: 200, want: large, length: -1},
		{name: "nothing", method: "GET", path: "/nothing", status: 200, has: map[string]string{"Content-Type": ""}},
		{name: "no content", method: "DELETE", path: "/no%20content", status: 204, has: map[string]string{"Content-Length": ""}},
		{name: "not modified", method: "GET", path: "/not%20modified", status: 304, has: map[string]string{"Content-Length": "", "Etag": `"x"`}},
		{name: "a header behind the status", method: "GET", path: "/late%20header", status: 418, has: map[string]string{"X-Late": ""}},
		{name: "a header with lines", method: "GET", path: "/lines", status: 200, has: map[string]string{"X-Injected": ""}},
		{name: "a body that is not read", method: "POST", path: "/unread", body: large[:200<<10], status: 200, want: "before the body was read", length: 24},
	} {
		for way, client := range ways(t, handler) {
			for range 2 { // on the same connection
				var body io.Reader
				if tt.body != "" {
					body = strings.NewReader(tt.body)
				}
				r := must.Get(http.NewRequest(tt.method, urlOf(way)+tt.path, body))(t)
				for name, values := range tt.header {
					r.Header[name] = values
				}
				resp, err := client.Do(r)
				if err != nil {
					t.Errorf("%s, %s: %v", way, tt.name, err)
					continue
				}
				got, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if resp.StatusCode != tt.status || string(got) != tt.want || err != nil {
					t.Errorf("%s, %s: got %d, %d bytes %.40q, %v; want %d, %d bytes", way, tt.name, resp.StatusCode, len(got), got, err, tt.status, len(tt.want))
				}
				if resp.ContentLength != tt.length && tt.length > 0 && way != "HTTP/2" { // HTTP/2 need not send it
					t.Errorf("%s, %s: got a length of %d, want %d", way, tt.name, resp.ContentLength, tt.length)
				}
				if _, err := http.ParseTime(resp.Header.Get("Date")); err != nil {
					t.Errorf("%s, %s: no date: %v", way, tt.name, err)
				}
				for name, want := range tt.has {
					if got := strings.TrimSpace(resp.Header.Get(name)); got != strings.TrimSpace(want) {
						t.Errorf("%s, %s: %s is %q, want %q", way, tt.name, name, got, want)
					}
				}
			}
		}
	}
}

// TestClientLeaves checks that a handler notices at once that a client disconnects, also while nothing is written, and
// never for a connected one.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	arrived, left := make(chan struct{}), make(chan error, 1)
	handler := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/begun" {
			_ = http.NewResponseController(w).Flush()
		}
		arrived <- struct{}{}
		select {
		case <-r.Context().Done():
			left <- r.Context().Err()
		case <-time.After(10 * time.Second):
			left <- nil
		}
	}
	for way, client := range ways(t, handler) {
		for _, path := range []string{"/silent", "/begun"} {
			for _, body := range []string{"", "x"} {
				ctx, leave := context.WithCancel(t.Context())
				r := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, urlOf(way)+path, strings.NewReader(body)))(t)
				go func() {
					if resp, err := client.Do(r); err == nil {
						_, _ = io.Copy(io.Discard, resp.Body)
						_ = resp.Body.Close()
					}
				}()
				<-arrived
				select {
				case err := <-left:
					t.Errorf("%s%s: a client that stays has left: %v", way, path, err)
				case <-time.After(50 * time.Millisecond):
				}
				leave()
				if err := <-left; err == nil {
					t.Errorf("%s%s: the handler did not notice the disconnected client", way, path)
				}
			}
		}
	}
}

// talk sends the given pieces, and returns all received data until the connection ends.
func talk(t *testing.T, address string, pieces ...string) string {
	t.Helper()
	c := dial(t, address)
	for i, piece := range pieces {
		if i > 0 {
			time.Sleep(settle / 4)
		}
		if _, err := io.WriteString(c, piece); err != nil {
			break
		}
	}
	got, err := io.ReadAll(c)
	if err != nil && !errors.Is(err, io.EOF) {
		t.Errorf("after %.60q: %v", pieces, err)
	}
	return string(got)
}

// statuses returns those of the received answers, with their bodies.
func statuses(t *testing.T, text string) (all []string) {
	t.Helper()
	for in := bufio.NewReader(strings.NewReader(text)); ; {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return all
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
		all = append(all, fmt.Sprint(resp.StatusCode, " ", string(body)))
	}
}

// TestConnectionsAreReused checks when a connection is reused, and the answers on it.
func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	_, address := started(t, httpserver.Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/body":
			body, err := io.ReadAll(r.Body)
			_, _ = fmt.Fprint(w, string(body), err)
		case "/close":
			w.Header().Set("Connection", "close")
		case "/stream":
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, "a")
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, "b")
		case "/short":
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "12345")
		case "/long":
			w.Header().Set("Content-Length", "3")
			if _, err := io.WriteString(w, "12345"); !errors.Is(err, http.ErrContentLength) {
				t.Errorf("more than its length: got %v, want %v", err, http.ErrContentLength)
			}
		case "/panic":
			panic(http.ErrAbortHandler)
		case "/oops":
			panic("oops")
		}
	})})
	const get, end = "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", "GET /end HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	of := func(path string) string { return fmt.Sprintf(get, path) }
	post := func(rest string) string { return "POST /body HTTP/1.1\r\nHost: x\r\n" + rest }
	for _, tt := range []struct {
		name   string
		pieces []string
		want   []string // the answers; the last one may have been cut short
	}{
		{"one after the other", []string{of("/"), of("/"), end}, []string{"200 ", "200 ", "200 "}},
		{"all at once", []string{of("/") + of("/stream") + of("/") + end}, []string{"200 ", "200 ab", "200 ", "200 "}},
		{"a body and more", []string{post("Content-Length: 5\r\n\r\nhello") + end}, []string{"200 hello<nil>", "200 "}},
		{"a body in pieces", []string{post("Content-Length: 5\r\n\r\nh"), "el", "lo" + end}, []string{"200 hello<nil>", "200 "}},
		{"chunks and more", []string{post("Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nTrailer: x\r\n\r\n") + end}, []string{"200 hello<nil>", "200 "}},
		{"chunks in pieces", []string{post("Transfer-Encoding: chunked\r\n\r\n2\r"), "\nhe\r\n3\r\nl", "lo\r\n0\r\n\r", "\n" + end}, []string{"200 hello<nil>", "200 "}},
		{"malformed chunks", []string{post("Transfer-Encoding: chunked\r\n\r\n2\nhe\r\n0\r\n\r\n") + end}, []string{"200 malformed chunked encoding"}},
		{"chunks of a size that is none", []string{post("Transfer-Encoding: chunked\r\n\r\n0x2\r\nhe\r\n0\r\n\r\n") + end}, []string{"200 malformed chunked encoding"}},
		{"a chunk that is longer than it says", []string{post("Transfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n") + end}, []string{"200 hemalformed chunked encoding"}},
		{"a chunk beyond all", []string{post("Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\nh\r\n0\r\n\r\n") + end}, []string{"200 malformed chunked encoding"}},
		{"waiting to be told", []string{post("Content-Length: 5\r\nExpect: 100-continue\r\n\r\n"), "hello" + end}, []string{"100 ", "200 hello<nil>", "200 "}},
		{"waiting in vain", []string{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n", end}, []string{"200 "}},
		{"told to close", []string{of("/close") + of("/")}, []string{"200 "}},
		{"HTTP/1.0", []string{"GET /stream HTTP/1.0\r\n\r\n" + of("/")}, []string{"200 ab"}},
		{"HTTP/1.0 that goes on", []string{"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n" + end}, []string{"200 ", "200 "}},
		{"HTTP/1.0 of unknown length", []string{"GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + end}, []string{"200 ab"}},
		{"an unread body", []string{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello" + end}, []string{"200 ", "200 "}},
		{"an unread body that does not come", []string{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nh"}, []string{"200 "}},
		{"an unread body that is too long", []string{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\nh" + strings.Repeat("h", 1000) + end}, []string{"200 "}},
		{"less than the length", []string{of("/short") + of("/")}, []string{"200 12345"}},
		{"more than the length", []string{of("/long") + of("/")}, []string{"200 "}},
		{"aborted", []string{of("/panic") + of("/")}, nil},
		{"a panic", []string{of("/oops") + of("/")}, nil},
		{"an upgrade", []string{"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n" + end}, []string{"200 ", "200 "}},
		{"a head that is none", []string{of("/") + "nonsense\r\n\r\n" + of("/")}, []string{"200 ", "400 400 Bad Request: a malformed request line\n"}},
		{"an empty line before", []string{"\r\n" + of("/") + "\r\n" + end}, []string{"200 ", "200 "}},
		{"two of them", []string{"\r\n", "\r\n" + of("/")}, []string{"400 400 Bad Request: a malformed request line\n"}},
		{"too many lines", []string{"GET / HTTP/1.1\r\n" + strings.Repeat("X: y\r\n", 200)}, []string{"431 431 Request Header Fields Too Large: more than 100 header lines\n"}},
		{"more behind the last one", []string{end + strings.Repeat(of("/"), 50)}, []string{"200 "}},
		{"a long head and more", []string{"GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("y", 20<<10) + "\r\n\r\n" + end[:5], end[5:]}, []string{"200 ", "200 "}},
		{"a head too long", []string{"GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("y", 40<<10)}, []string{"431 431 Request Header Fields Too Large: the request header is too long\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := talk(t, address, tt.pieces...)
			if got := statuses(t, text); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q: %q", got, tt.want, text)
			}
		})
	}
}

// TestDeadlinesEndReadsAndWrites checks that reads and writes end at their deadlines, and that those of one request do
// not apply to the next.
func TestDeadlinesEndReadsAndWrites(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	handler := func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		switch r.URL.Path {
		case "/read":
			must.Do(t, control.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
			_, err := io.ReadAll(r.Body)
			failed <- err
			must.Do(t, control.SetReadDeadline(time.Now().Add(-time.Second)))
		case "/write":
			must.Do(t, control.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
			piece := make([]byte, 1<<20)
			for {
				if _, err := w.Write(piece); err != nil {
					failed <- err
					return
				}
			}
		case "/past":
			must.Do(t, control.SetReadDeadline(time.Now().Add(time.Millisecond)))
			must.Do(t, control.SetWriteDeadline(time.Now().Add(-time.Millisecond)))
			time.Sleep(400 * time.Millisecond)
			must.Do(t, control.SetWriteDeadline(time.Time{}))
		}
	}
	_, address := started(t, httpserver.Options{Handler: http.HandlerFunc(handler)})
	c := dial(t, address)
	must.Get(io.WriteString(c, "POST /read HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nh"))(t)
	if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("an incomplete body: got %v, want %v", err, os.ErrDeadlineExceeded)
	}
	c = dial(t, address)
	send(t, c, "/write")
	if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("an unread answer: got %v, want %v", err, os.ErrDeadlineExceeded)
	}
	c = dial(t, address)
	in := bufio.NewReader(c)
	for range 2 {
		send(t, c, "/past")
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("behind a request with deadlines: %v", err)
		}
		_ = resp.Body.Close()
	}
}

// TestHeadTime checks the time limit of a head, from its first byte on, and on a new connection from the beginning.
func TestHeadTime(t *testing.T) {
	t.Parallel()
	_, address := started(t, httpserver.Options{HeadTime: 300 * time.Millisecond, IdleTime: time.Hour, Handler: http.NotFoundHandler()})
	for name, pieces := range map[string][]string{
		"nothing": nil, "half a head": {"GET / HT"}, "half of a second head": {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET"},
		"half of a second head at once": {"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET"}, "an empty line": {"\r\n", "\r"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_ = talk(t, address, pieces...) // until the connection ends
		})
	}
	c := dial(t, address)
	send(t, c, "/")
	want(t, "a request", c, http.StatusNotFound)
	time.Sleep(time.Second)
	send(t, c, "/")
	want(t, "a request behind a pause", c, http.StatusNotFound)
}

// TestShutdownWaitsForRequests checks that a stop waits for requests in flight, notifies their clients that the
// connection ends, and accepts no others.
func TestShutdownWaitsForRequests(t *testing.T) {
	t.Parallel()
	arrived, wait := make(chan struct{}), make(chan struct{})
	s, address := started(t, httpserver.Options{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			arrived <- struct{}{}
			<-wait
		}
	})})
	busy, idle := dial(t, address), dial(t, address)
	send(t, idle, "/")
	want(t, "a first request", idle, http.StatusOK)
	send(t, busy, "/wait")
	<-arrived
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a stop during a request: got %v, want %v", err, context.DeadlineExceeded)
	}
	want(t, "an idle connection", idle, 0)
	if c, err := net.Dial("tcp", address); err == nil {
		t.Error("a new connection is accepted")
		_ = c.Close()
	}
	stopped := make(chan error)
	go func() { stopped <- s.Shutdown(t.Context()) }()
	wait <- struct{}{}
	resp, err := http.ReadResponse(bufio.NewReader(busy), nil)
	if err != nil || resp.StatusCode != http.StatusOK || !resp.Close {
		t.Errorf("the request in flight: got %v %v, want 200 and the end of the connection announced", resp, err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("a stop when the request is over: %v", err)
	}
}

// TestRetireEndsConnectionsAfterAnswers checks that a retiring server continues, that its answers end their
// connections, and that a stop then accepts one more request on connections whose clients cannot know.
func TestRetireEndsConnectionsAfterAnswers(t *testing.T) {
	t.Parallel()
	arrived, wait := make(chan struct{}), make(chan struct{})
	s, address := started(t, httpserver.Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			_ = http.NewResponseController(w).Flush()
			arrived <- struct{}{}
			<-wait
		}
	})})
	stream, idle, fresh := dial(t, address), dial(t, address), dial(t, address)
	send(t, stream, "/stream")
	<-arrived // its head does not say that the connection ends
	send(t, idle, "/")
	want(t, "a request before", idle, http.StatusOK)
	s.Retire()
	closes := func(what string, c net.Conn) {
		t.Helper()
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || resp.StatusCode != http.StatusOK || !resp.Close {
			t.Errorf("%s: got %v %v, want 200 and that the connection ends", what, resp, err)
		}
	}
	send(t, fresh, "/")
	closes("a request of a new connection", fresh)
	stopped := make(chan error)
	last := dial(t, address)
	time.Sleep(settle)
	go func() { stopped <- s.Shutdown(t.Context()) }()
	time.Sleep(settle)
	send(t, last, "/")
	closes("a request of a connection that was made just before the stop", last)
	wait <- struct{}{}
	in := bufio.NewReader(stream)
	resp := must.Get(http.ReadResponse(in, nil))(t)
	must.Equal(t, resp.Close, false, "the announced end of the connection in the stream's head")
	_, _ = io.Copy(io.Discard, resp.Body)
	send(t, stream, "/")
	resp, err := http.ReadResponse(in, nil)
	if err != nil || resp.StatusCode != http.StatusOK || !resp.Close {
		t.Errorf("a request behind the stream: got %v %v, want 200 and that the connection ends", resp, err)
	}
	must.Do(t, <-stopped)
}

// TestClosedWhileIdle checks that no handler gets a request on a connection that was closed to make room, and that
// every answer is complete.
func TestClosedWhileIdle(t *testing.T) {
	t.Parallel()
	var begun, answered atomic.Int64
	_, address := started(t, httpserver.Options{Most: 8, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { begun.Add(1) })})
	var clients sync.WaitGroup
	end := time.Now().Add(time.Second)
	for range 12 {
		clients.Go(func() {
			for time.Now().Before(end) {
				c, err := net.Dial("tcp", address)
				if err != nil {
					continue
				}
				in := bufio.NewReader(c)
				for time.Now().Before(end) {
					if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
						break
					}
					resp, err := http.ReadResponse(in, nil)
					if err != nil {
						break
					}
					answered.Add(1)
					_ = resp.Body.Close()
				}
				_ = c.Close()
			}
		})
	}
	clients.Wait()
	if begun.Load() != answered.Load() || answered.Load() == 0 {
		t.Errorf("%d requests were begun, %d answered; want as many", begun.Load(), answered.Load())
	}
}

// TestCloseEndsRequests checks that a closed server ends the contexts of its requests, and that one that was closed
// before it served does not serve.
func TestCloseEndsRequests(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*httpserver.Server) error{
		"closed": (*httpserver.Server).Close, "shut down": func(s *httpserver.Server) error { return s.Shutdown(t.Context()) },
	} {
		s := httpserver.New(httpserver.Options{Handler: http.NotFoundHandler(), Most: 1})
		must.Do(t, stop(s))
		l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("%s before: got %v, want %v", name, err, http.ErrServerClosed)
		}
	}
	arrived, ended := make(chan struct{}), make(chan struct{})
	s, address := started(t, httpserver.Options{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
		close(ended)
	})})
	send(t, dial(t, address), "/")
	<-arrived
	must.Do(t, s.Close())
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("a request continues in a closed server")
	}
}
