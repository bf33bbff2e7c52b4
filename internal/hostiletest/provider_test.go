//go:build linux

package hostiletest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/must"
)

// hostileProvider speaks HTTP badly, depending on the requested model.
type hostileProvider struct {
	listener net.Listener
	running  sync.WaitGroup
	followed atomic.Int64 // requests to the target of a redirect
	stolen   stolen
}

// stolen holds requests with secrets that the provider should not receive.
type stolen struct {
	mu   sync.Mutex
	some []string
}

// look records a request with a secret that is not the provider's.
func (s *stolen) look(r *http.Request) {
	text := fmt.Sprint(r.URL, r.Header)
	if !strings.Contains(text, houseKey) && !strings.Contains(text, variable) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.some = append(s.some, text)
}

// all returns the first of them.
func (s *stolen) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.some[:min(len(s.some), 5)]
}

// question is a request to the hostile provider.
type question struct {
	Model    string
	Stream   bool
	Deferred bool
	Messages []struct{ Content string }
}

func newHostileProvider(t *testing.T) *hostileProvider {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	must.Do(t, err)
	p := &hostileProvider{listener: l}
	t.Cleanup(func() {
		_ = l.Close()
		p.running.Wait() // the gateways are dead by then, and so are their connections
	})
	p.running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p.running.Go(func() { p.serve(conn.(*net.TCPConn)) })
		}
	})
	return p
}

func (p *hostileProvider) address() string { return p.listener.Addr().String() }

func (p *hostileProvider) serve(conn *net.TCPConn) {
	defer conn.Close()
	r, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	p.stolen.look(r)
	var q question
	if json.NewDecoder(r.Body).Decode(&q) != nil {
		return
	}
	if !strings.HasPrefix(r.URL.Path, "/v1/") {
		p.followed.Add(1)
	}
	for i := range scripts {
		if scripts[i].model == q.Model {
			scripts[i].answer(conn, &q)
			return
		}
	}
	const missing = `{"error":{"message":"The model does not exist.","type":"invalid_request_error","code":"model_not_found"}}`
	say(conn, strings.Replace(jsonHead, "200 OK", "404 Not Found", 1)+"Content-Length: %d\r\n\r\n%s", len(missing), missing)
}

const (
	jsonHead   = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
	streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
	piece      = `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}` + "\n\n"
	lastPiece  = `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}` + "\n\ndata: [DONE]\n\n"
	goodReply  = `{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`
)

// repeat writes the same until the connection closes, or n times. The pauses leave processor time to the gateway.
func repeat(conn net.Conn, text string, n int, every time.Duration) {
	for range n {
		if _, err := io.WriteString(conn, text); err != nil {
			return
		}
		time.Sleep(every)
	}
}

// await waits until the connection closes.
func await(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// say writes, and leaves errors to the next write.
func say(conn net.Conn, format string, args ...any) { _, _ = fmt.Fprintf(conn, format, args...) }

const forever = 1 << 40 // until the gateway has had enough

// script describes the provider's behaviour for the model of its name.
type script struct {
	model, name, held string
	answer            func(*net.TCPConn, *question)
	met               []string // the possible outcomes of clients
}

var scripts = []script{
	{"heads", "heads of answers without end", "502 beyond 64 KiB", func(c *net.TCPConn, _ *question) {
		say(c, "HTTP/1.1 200 OK\r\n")
		repeat(c, strings.Repeat("X-Y: z\r\n", 1000), forever, time.Millisecond)
	}, []string{"502", "503"}},
	{"lines", "lines of 64 MB in streams", "502 beyond 8 MiB; 504 where no memory comes free in time", func(c *net.TCPConn, _ *question) {
		say(c, streamHead+"data: {\"x\":\"")
		repeat(c, strings.Repeat("x", 64<<10), 1024, time.Millisecond)
	}, []string{"502", "503", "504"}},
	{"drips", "answers a byte at a time", "504 when `total` has passed", func(c *net.TCPConn, _ *question) {
		say(c, jsonHead+"Content-Length: 1000000\r\n\r\n")
		repeat(c, " ", forever, 100*time.Millisecond)
	}, []string{"502", "503", "504"}},
	{"lengths", "answers of wrong lengths", "502", func(c *net.TCPConn, q *question) {
		if q.Stream {
			say(c, jsonHead+"Content-Length: %d\r\n\r\n%s", len(goodReply)-10, goodReply)
			return
		}
		say(c, jsonHead+"Content-Length: %d\r\n\r\n%s", len(goodReply)+10, goodReply)
	}, []string{"502", "503"}},
	{"comments", "keep-alive comments without end", "504 when `total` has passed", func(c *net.TCPConn, _ *question) {
		say(c, streamHead)
		repeat(c, ": x\n\n", forever, 5*time.Millisecond)
	}, []string{"502", "503", "504"}},
	{"pieces", "streams without a pause", "the processor is given up after a few reads; others go on", func(c *net.TCPConn, _ *question) {
		say(c, streamHead)
		repeat(c, strings.Repeat(piece, 20), forever, 0)
	}, []string{"200", "broken off", "502", "503", "504"}},
	{"events", "events of 4 MB in streams", "counted by account until they are taken", func(c *net.TCPConn, _ *question) {
		say(c, streamHead)
		repeat(c, strings.Replace(piece, "Hi", strings.Repeat("x", long(4<<20, 300<<10)), 1), forever, 10*time.Millisecond)
	}, []string{"200", "broken off", "502", "503", "504"}},
	{"calls", "whole answers of 3,000 calls", "decoded in turns, account by account", func(c *net.TCPConn, _ *question) {
		call := `{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}`
		reply := strings.Replace(goodReply, `"content":"Hi"`, `"content":null,"tool_calls":[`+strings.Repeat(call+",", 2999)+call+`]`, 1)
		say(c, jsonHead+"Content-Length: %d\r\n\r\n%s", len(reply), reply)
	}, []string{"200", "broken off", "502", "503", "504"}},
	{"redirect", "redirects", "502, and the key goes nowhere else", func(c *net.TCPConn, _ *question) {
		say(c, "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://%s/elsewhere\r\nContent-Length: 0\r\n\r\n", c.LocalAddr())
	}, []string{"502", "503"}},
	{"interim", "interim answers without end", "502 beyond 64 KiB", func(c *net.TCPConn, _ *question) {
		repeat(c, strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 100), forever, time.Millisecond)
	}, []string{"502", "503"}},
	{"shared", "", "", shared, nil},
	{"costly", "", "", costly, nil},
	{"quick", "", "", func(c *net.TCPConn, _ *question) {
		say(c, jsonHead+"Content-Length: %d\r\n\r\n%s", len(goodReply), goodReply)
	}, nil},
	{"steady", "", "", func(c *net.TCPConn, _ *question) {
		say(c, streamHead)
		repeat(c, piece, 20, 10*time.Millisecond)
		await(c)
	}, nil},
	{"bodies", "", "", func(c *net.TCPConn, _ *question) {
		// All of it is right but for its length.
		start, end, _ := strings.Cut(goodReply, "Hi")
		say(c, jsonHead+"\r\n%s", start)
		repeat(c, strings.Repeat("x", 1<<20), 64, 10*time.Millisecond)
		say(c, "%s", end)
	}, nil},
	{"announced", "", "", func(c *net.TCPConn, _ *question) {
		reply := strings.Replace(goodReply, "Hi", strings.Repeat("x", long(7<<20, 300<<10)), 1)
		say(c, jsonHead+"Content-Length: %d\r\n\r\n%s", len(reply), reply)
	}, nil},
	{"halves", "", "", func(c *net.TCPConn, _ *question) {
		say(c, "%sdata: {\"id\":\"%s", streamHead, strings.Repeat("x", 250<<10))
		await(c)
	}, nil},
	{"long", "", "", func(c *net.TCPConn, _ *question) {
		say(c, streamHead)
		repeat(c, strings.Replace(piece, "Hi", strings.Repeat("x", 4<<10), 1), 75, 20*time.Millisecond)
		await(c)
	}, nil},
	{"headed", "", "", func(c *net.TCPConn, _ *question) {
		say(c, "%s", strings.TrimSuffix(streamHead, "\r\n")+strings.Repeat("X: y\r\n", 10_000)+"\r\n"+piece)
		await(c)
	}, nil},
	{"wide", "", "", func(c *net.TCPConn, _ *question) {
		say(c, streamHead)
		repeat(c, strings.Replace(piece, "Hi", strings.Repeat("x", 64<<10), 1), forever, 50*time.Millisecond)
	}, nil},
}

// shared is a provider that answers correctly unless a request causes a failure.
func shared(c *net.TCPConn, q *question) {
	odd := len(q.Messages) > 0 && q.Messages[0].Content == oddly
	switch {
	case odd, q.Deferred: // as xAI's, https://docs.x.ai/docs/guides/deferred-chat-completions
		say(c, jsonHead+"Content-Length: 18\r\n\r\n{\"request_id\":\"x\"}")
	case q.Stream:
		say(c, streamHead+piece+lastPiece)
	default:
		say(c, jsonHead+"Content-Length: %d\r\n\r\n%s", len(goodReply), goodReply)
	}
}

// oddly is a message that brings about an answer of an unexpected shape.
const oddly = "Answer oddly."

// providerAttacks sends requests to a hostile provider, while good clients use another.
func providerAttacks() (all []attack) {
	for _, s := range scripts {
		if s.name == "" {
			continue
		}
		all = append(all, attack{name: s.name, held: s.held, hostile: func(a *attacker) {
			a.many(4, 50*time.Millisecond, func(i int) {
				a.post(chatPath, strings.NewReader(fmt.Sprintf(`{"model":"bad/%s","stream":%t,"messages":[{"role":"user","content":"x"}]}`, s.model, i%2 == 0)))
			})
		}, check: func(t *testing.T, r *result) {
			if *longFlag {
				only(s.met...)(t, r)
			}
			if n := r.testGateway.provider.followed.Load(); n > 0 {
				t.Errorf("%d requests followed a redirect", n)
			}
		}})
	}
	return append(all, attack{name: "many whole answers of 64 MB", held: "read as memory is free; 502 beyond 32 MiB", lasts: strict(10*time.Second, 5*time.Second), hostile: func(a *attacker) {
		a.many(15, 50*time.Millisecond, func(int) {
			a.post(chatPath, strings.NewReader(`{"model":"bad/bodies","messages":[{"role":"user","content":"x"}]}`))
		})
	}, check: only("502", "503", "504")})
}
