package hostile_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// rawProvider starts a provider with invalid HTTP: the script gets the connection after one request has been read.
func rawProvider(t testing.TB, script func(conn *net.TCPConn)) (url string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	var running sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, c := range conns {
			_ = c.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			running.Go(func() {
				defer conn.Close()
				r, err := http.ReadRequest(bufio.NewReader(conn))
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, r.Body)
				script(conn.(*net.TCPConn))
			})
		}
	})
	return "http://" + l.Addr().String()
}

// say writes, and reports whether the connection still accepts data.
func say(conn net.Conn, format string, args ...any) bool {
	_, err := fmt.Fprintf(conn, format, args...)
	return err == nil
}

// hold holds the connection until the gateway closes it.
func hold(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// repeat writes the same bytes as long as the connection accepts them.
func repeat(conn net.Conn, b []byte) {
	for {
		if _, err := conn.Write(b); err != nil {
			return
		}
	}
}

// drip writes the same over and over, never long after the last time.
func drip(conn net.Conn, b []byte) {
	for {
		if _, err := conn.Write(b); err != nil {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

const (
	streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
	chunkHead  = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	jsonHead   = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	piece      = `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}` + "\n\n"
	goodReply  = `{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`
)

// zipped returns a valid reply, compressed.
func zipped() []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, goodReply)
	_ = w.Close()
	return b.Bytes()
}

// hostility describes a provider that breaks the protocol and the client's expected error.
type hostility struct {
	name   string
	script func(conn *net.TCPConn)
	status int
	code   string
	begun  bool // a stream has begun when it fails
	stream bool // only for streams
	whole  bool // only for whole answers
	waits  bool // a timer ends it, although the client receives another error
	goesOn bool // only the total timer ends it
}

func hostilities() []hostility {
	filler := bytes.Repeat([]byte{'x'}, 64<<10)
	return []hostility{
		{name: "takes the request and stays silent", script: func(c *net.TCPConn) { hold(c) }, status: 504, code: "PROVIDER_TIMEOUT"},
		{name: "half a status line", script: func(c *net.TCPConn) { say(c, "HTTP/1.1 2"); hold(c) }, status: 504, code: "PROVIDER_TIMEOUT"},
		{name: "half a header", script: func(c *net.TCPConn) { say(c, "HTTP/1.1 200 OK\r\nContent-"); hold(c) }, status: 504, code: "PROVIDER_TIMEOUT"},
		{name: "informs without end", script: func(c *net.TCPConn) { repeat(c, bytes.Repeat([]byte("HTTP/1.1 103 Early Hints\r\n\r\n"), 100)) }, status: 502, code: "PROVIDER_ERROR"},
		{name: "header without end", script: func(c *net.TCPConn) { say(c, "HTTP/1.1 200 OK\r\nX: "); repeat(c, filler) }, status: 502, code: "PROVIDER_ERROR"},
		{name: "headers without end", script: func(c *net.TCPConn) {
			say(c, "HTTP/1.1 200 OK\r\n")
			repeat(c, bytes.Repeat([]byte("X-Y: z\r\n"), 1000))
		}, status: 502, code: "PROVIDER_ERROR"},
		{name: "another protocol", script: func(c *net.TCPConn) { say(c, "SSH-2.0-OpenSSH_9.6\r\n"); hold(c) }, status: 502, code: "PROVIDER_ERROR"},
		{name: "TLS", script: func(c *net.TCPConn) { say(c, "\x15\x03\x01\x00\x02\x02\x46\r\n\r\n"); hold(c) }, status: 502, code: "PROVIDER_ERROR"},
		{name: "a good reply, compressed unasked", script: func(c *net.TCPConn) {
			say(c, jsonHead+"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(zipped()), zipped())
		}, status: 502, code: "PROVIDER_ERROR"},
		{name: "a longer body than it says", script: func(c *net.TCPConn) {
			say(c, jsonHead+"Content-Length: %d\r\n\r\n%s", len(goodReply)-10, goodReply)
		}, status: 502, code: "PROVIDER_ERROR"},
		{name: "a shorter body than it says", script: func(c *net.TCPConn) {
			say(c, jsonHead+"Content-Length: %d\r\n\r\n%s", len(goodReply)+10, goodReply)
		}, status: 502, code: "PROVIDER_ERROR"},
		{name: "a shorter body, and waits", script: func(c *net.TCPConn) {
			say(c, jsonHead+"Content-Length: %d\r\n\r\n%s", len(goodReply)+10, goodReply)
			hold(c)
		}, status: 504, code: "PROVIDER_TIMEOUT"},
		{name: "two lengths", script: func(c *net.TCPConn) {
			say(c, jsonHead+"Content-Length: 3\r\nContent-Length: %d\r\n\r\n%s", len(goodReply), goodReply)
		}, status: 502, code: "PROVIDER_ERROR"},
		{name: "a negative length", script: func(c *net.TCPConn) { say(c, jsonHead+"Content-Length: -1\r\n\r\n%s", goodReply) }, status: 502, code: "PROVIDER_ERROR"},
		{name: "a chunk size that is none", script: func(c *net.TCPConn) { say(c, chunkHead+"zz\r\n%s", piece) }, status: 502, code: "PROVIDER_ERROR"},
		{name: "a chunk size without end", script: func(c *net.TCPConn) { say(c, chunkHead); repeat(c, bytes.Repeat([]byte("0"), 1000)) }, status: 502, code: "PROVIDER_ERROR"},
		{name: "64 MiB", whole: true, script: func(c *net.TCPConn) {
			say(c, jsonHead+"Content-Length: %d\r\n\r\n{\"x\":\"", 64<<20)
			repeat(c, filler)
		}, status: 502, code: "PROVIDER_ERROR"},
		{name: "JSON without end", whole: true, script: func(c *net.TCPConn) { say(c, jsonHead+"\r\n"); repeat(c, filler) }, status: 502, code: "PROVIDER_ERROR"},
		{name: "an error page without end", script: func(c *net.TCPConn) {
			say(c, "HTTP/1.1 500 Oh\r\nContent-Type: text/html\r\n\r\n")
			repeat(c, filler)
		}, status: 502, code: "PROVIDER_ERROR"},
		{name: "an error, and waits", waits: true, script: func(c *net.TCPConn) {
			say(c, "HTTP/1.1 500 Oh\r\nContent-Length: 100\r\n\r\nso")
			hold(c)
		}, status: 502, code: "PROVIDER_ERROR"},

		{name: "a line without end", stream: true, script: func(c *net.TCPConn) { say(c, streamHead+"data: {\"x\":\""); repeat(c, filler) }, status: 502, code: "PROVIDER_ERROR"},
		{name: "one piece, then a line without end", begun: true, script: func(c *net.TCPConn) { say(c, streamHead+piece+"data: {\"x\":\""); repeat(c, filler) }, code: "PROVIDER_ERROR"},
		{name: "one piece, then silence", begun: true, script: func(c *net.TCPConn) { say(c, streamHead+piece); hold(c) }, code: "PROVIDER_TIMEOUT"},
		{name: "one piece, then the end", begun: true, script: func(c *net.TCPConn) { say(c, streamHead+piece) }, code: "PROVIDER_ERROR"},
		{name: "one piece, then nonsense", begun: true, script: func(c *net.TCPConn) { say(c, streamHead+piece+"data: {]\n\n"); hold(c) }, code: "PROVIDER_ERROR"},
		{name: "one piece, then comments without end", begun: true, goesOn: true, script: func(c *net.TCPConn) { say(c, streamHead+piece); drip(c, []byte(": x\n\n")) }, code: "PROVIDER_TIMEOUT"},
		{name: "one piece, then empty objects without end", begun: true, goesOn: true, script: func(c *net.TCPConn) { say(c, streamHead+piece); drip(c, []byte("data: {}\n\n")) }, code: "PROVIDER_TIMEOUT"},
		{name: "comments without end", stream: true, goesOn: true, script: func(c *net.TCPConn) { say(c, streamHead); drip(c, []byte(": x\n")) }, status: 504, code: "PROVIDER_TIMEOUT"},
		{name: "a deep tree", stream: true, script: func(c *net.TCPConn) { say(c, streamHead+"data: %s\n\n", strings.Repeat("[", 1<<20)); hold(c) }, status: 502, code: "PROVIDER_ERROR"},
	}
}

// TestHostileProviders checks that each of them ends in the error of its kind, within its timer, while healthy requests
// continue undisturbed.
func TestHostileProviders(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	// When the test ends, answers without end are still read on.
	yaml := "drain_timeout: 2s\nproviders:" + harness.ProviderYAML("house", up.URL)
	all := hostilities()
	for i := range all {
		wait, total := "1m", "5m"
		switch {
		case all[i].goesOn:
			total = "3s" // in which the first piece arrives on a busy machine, too
		case all[i].waits || all[i].code == "PROVIDER_TIMEOUT":
			wait = "2s"
		}
		yaml += harness.Hasty(harness.ProviderYAML(fmt.Sprintf("bad%d", i), rawProvider(t, all[i].script)), wait, total)
	}
	h := harness.Open(t, harness.Setup{YAML: yaml + harness.PricesYAML})
	ctx, cancel := context.WithCancel(context.Background())
	healthy := make(chan string)
	go func() { healthy <- healthyUntil(h, ctx) }()
	t.Run("all", func(t *testing.T) {
		for i, bad := range all {
			for _, stream := range []bool{false, true} {
				if stream && bad.whole || !stream && (bad.stream || bad.begun) {
					continue
				}
				t.Run(fmt.Sprintf("%s, stream %v", bad.name, stream), func(t *testing.T) {
					t.Parallel()
					bad.check(t, h, fmt.Sprintf("bad%d/m", i), stream)
				})
			}
		}
	})
	cancel()
	if problem := <-healthy; problem != "" {
		t.Error(problem)
	}
}

func (bad *hostility) check(t *testing.T, h *harness.Gateway, model string, stream bool) {
	accept := "application/json"
	if stream {
		accept = "text/event-stream"
	}
	r := h.Chat(model, "Accept", accept)
	if !bad.begun {
		harness.WantError(t, r, bad.status, bad.code)
		return
	}
	if r.Status != http.StatusOK {
		t.Fatalf("status %d: %.300s", r.Status, r.Body)
	}
	events, e := harness.SplitStream(t, r.Body)
	if e == nil || e.Code != bad.code || harness.Text(events) != "Hi" {
		t.Errorf("text %q, error %+v; want Hi and %s", harness.Text(events), e, bad.code)
	}
	if row := h.Row(r.Header.Get("X-Request-Id")); row.Outcome != "cut" || row.Provenance != "estimated" || row.In == 0 || row.Out == 0 {
		t.Errorf("the row is %+v, want a cut, estimated", row)
	}
}

// healthyUntil sends requests to a healthy provider until ctx ends, and returns the first problem.
func healthyUntil(h *harness.Gateway, ctx context.Context) (problem string) {
	for n := 1; ctx.Err() == nil; n++ {
		if r := h.Chat("house/echo"); r.Status != http.StatusOK {
			return fmt.Sprintf("healthy request %d: %d %s", n, r.Status, r.Body)
		}
		time.Sleep(30 * time.Millisecond)
	}
	return ""
}
