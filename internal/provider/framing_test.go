package provider_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/provider"
)

// upstream answers every request on every connection with the same bytes.
type upstream struct {
	text   string
	cut    int   // bytes a write; 0 for all in one
	hangUp bool  // close the connection after the answer
	diesAt int32 // from this request on connections are closed without an answer
	before func(request int32)
	after  func(c net.Conn)

	conns, requests atomic.Int32
}

// start starts the server and returns its base URL.
func (u *upstream) start(t testing.TB) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			u.conns.Add(1)
			wg.Go(func() { u.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		wg.Wait()
	})
	return "http://" + ln.Addr().String() + "/v1"
}

func (u *upstream) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(patience))
	r := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		n := u.requests.Add(1)
		if u.diesAt > 0 && n >= u.diesAt {
			return
		}
		if u.before != nil {
			u.before(n)
		}
		for text := u.text; text != ""; {
			n := len(text)
			if u.cut > 0 {
				n = min(n, u.cut)
			}
			if _, err := io.WriteString(c, text[:n]); err != nil {
				return
			}
			text = text[n:]
		}
		if u.hangUp {
			return
		}
		if u.after != nil {
			u.after(c)
		}
	}
}

const (
	ok1      = "HTTP/1.1 200 OK\r\n"
	ok0      = "HTTP/1.0 200 OK\r\n"
	length2  = "Content-Length: 2\r\n"
	inChunks = ok1 + "Transfer-Encoding: chunked\r\n\r\n"
	lastOne  = "0\r\n\r\n"
)

// framingCases lists whole answers: a body of "{}" unless another is named.
var framingCases = []struct {
	name, text string
	body       string
	kept       bool // the connection serves the next exchange too
}{
	{"length", ok1 + length2 + "\r\n{}", "{}", true},
	{"length, lines end in LF", "HTTP/1.1 200 OK\nContent-Length: 2\n\n{}", "{}", true},
	{"length, mixed line ends", "HTTP/1.1 200 OK\nContent-Length: 2\r\n\n{}", "{}", true},
	{"length in other words", ok1 + "content-LENGTH:\t 2 \r\n\r\n{}", "{}", true},
	{"the same length twice", ok1 + length2 + length2 + "\r\n{}", "{}", true},
	{"length of nothing", ok1 + "Content-Length: 0\r\n\r\n", "", true},
	{"no reason", "HTTP/1.1 200\r\n" + length2 + "\r\n{}", "{}", true},
	{"no content", "HTTP/1.1 204 No Content\r\n\r\n", "", true},
	{"no content in chunks", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", "", true},
	{"HTTP/1.0", ok0 + length2 + "\r\n{}", "{}", false},
	{"HTTP/1.0 kept", ok0 + "Connection: Keep-Alive\r\n" + length2 + "\r\n{}", "{}", true},
	{"close", ok1 + "Connection: close\r\n" + length2 + "\r\n{}", "{}", false},
	{"close among others", ok1 + "Connection: keep-alive, Close\r\n" + length2 + "\r\n{}", "{}", false},
	{"close, then kept", ok1 + "Connection: close\r\nConnection: keep-alive\r\n" + length2 + "\r\n{}", "{}", false},
	{"interim answers", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n", 4) + "HTTP/1.1 100 Continue\r\n\r\n" + ok1 + length2 + "\r\n{}", "{}", true},
	{"one chunk", inChunks + "2\r\n{}\r\n" + lastOne, "{}", true},
	{"two chunks", inChunks + "1\r\n{\r\n1\r\n}\r\n" + lastOne, "{}", true},
	{"hexadecimal", inChunks + "00f\r\n" + strings.Repeat(" ", 15) + "\r\n1A\r\n" + strings.Repeat(" ", 26) + "\r\n" + lastOne, strings.Repeat(" ", 41), true},
	{"extensions", inChunks + "2;a=b;c=\"d\"\r\n{}\r\n0;e\r\n\r\n", "{}", true},
	{"white space behind a size", inChunks + "2 \t\r\n{}\r\n0 \r\n\r\n", "{}", true},
	{"trailers", inChunks + "2\r\n{}\r\n0\r\nX-Sum: 1\r\nY: 2\r\n\r\n", "{}", true},
	{"no chunk", inChunks + lastOne, "", true},
	{"CR LF in data", inChunks + "4\r\n\r\n\r\n\r\n" + lastOne, "\r\n\r\n", true},
	{"more than its length", ok1 + length2 + "\r\n{}HTTP/1.1 500 Oops\r\n\r\n", "{}", false},
	{"more than its chunks", inChunks + "2\r\n{}\r\n" + lastOne + ok1, "{}", false},
	{"more than nothing", "HTTP/1.1 204 No Content\r\n\r\n" + ok1, "", false},
}

// TestFramingOfAnswers checks the body of every answer, and the reuse of its connection, for all ways in which the
// network cuts it.
func TestFramingOfAnswers(t *testing.T) {
	t.Parallel()
	for _, tc := range framingCases {
		for _, cut := range []int{0, 1, 3} {
			overTransportsNamed(t, tc.name, func(t *testing.T, way transport) {
				u := &upstream{text: tc.text, cut: cut}
				p := way.provider(t, provider.Options{BaseURL: u.start(t)})
				for range 2 {
					got, f := exchange(t.Context(), p, chat(false))
					if nothing := f != nil && f.Status == 204; !nothing && (f != nil || string(got) != tc.body) {
						t.Fatalf("%q in pieces of %d: got %q, %v; want %q", tc.text, cut, got, f, tc.body)
					}
					time.Sleep(5 * time.Millisecond) // until the surplus has arrived
				}
				if kept := u.conns.Load() == 1; kept != tc.kept {
					t.Errorf("%q in pieces of %d: got %d connections, want reuse %t", tc.text, cut, u.conns.Load(), tc.kept)
				}
			})
		}
	}
}

// TestBodiesUntilClose checks bodies that end with their connection.
func TestBodiesUntilClose(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]string{"HTTP/1.1": ok1, "HTTP/1.0": ok0} {
		for _, cut := range []int{0, 1} {
			overTransportsNamed(t, name, func(t *testing.T, way transport) {
				u := &upstream{text: head + "\r\n{}", cut: cut, hangUp: true}
				p := way.provider(t, provider.Options{BaseURL: u.start(t)})
				for range 2 {
					if got, f := exchange(t.Context(), p, chat(false)); f != nil || string(got) != "{}" {
						t.Errorf("got %q, %v; want {}", got, f)
					}
				}
			})
		}
	}
}

// TestBadFraming checks that an answer that two readers could interpret differently is refused. These servers do not
// close the connection: the failure must not wait for that.
func TestBadFraming(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		ok1 + length2 + "Content-Length: 3\r\n\r\n{}",
		ok1 + "Content-Length: 2, 2\r\n\r\n{}",
		ok1 + "Content-Length: +2\r\n\r\n{}",
		ok1 + "Content-Length: -1\r\n\r\n{}",
		ok1 + "Content-Length: 0x2\r\n\r\n{}",
		ok1 + "Content-Length: 1_0\r\n\r\n{}",
		ok1 + "Content-Length: \r\n\r\n{}",
		ok1 + "Content-Length: 99999999999999999999\r\n\r\n{}",
		ok1 + length2 + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n" + lastOne,
		ok1 + "Transfer-Encoding: gzip\r\n\r\n{}",
		ok1 + "Transfer-Encoding: gzip, chunked\r\n\r\n" + lastOne,
		ok1 + "Transfer-Encoding: chun\u212aed\r\n\r\n" + lastOne,
		ok1 + "Transfer-Encoding: identity\r\n" + length2 + "\r\n{}",
		ok1 + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + lastOne,
		ok1 + "Transfer-Encoding : chunked\r\n\r\n" + lastOne,
		ok0 + "Transfer-Encoding: chunked\r\n\r\n" + lastOne,
		ok1 + "X: 1\r\n folded\r\n" + length2 + "\r\n{}",
		ok1 + " X: 1\r\n" + length2 + "\r\n{}",
		ok1 + "no colon\r\n" + length2 + "\r\n{}",
		ok1 + ": no name\r\n" + length2 + "\r\n{}",
		ok1 + "X: a\x00b\r\n" + length2 + "\r\n{}",
		ok1 + "X: a\rb\r\n" + length2 + "\r\n{}",
		"\r\n" + ok1 + length2 + "\r\n{}",
		"HTTP/2.0 200 OK\r\n" + length2 + "\r\n{}",
		"HTTP/1.2 200 OK\r\n" + length2 + "\r\n{}",
		"HTTP/1.1  200 OK\r\n" + length2 + "\r\n{}",
		"HTTP/1.1 20 OK\r\n" + length2 + "\r\n{}",
		"HTTP/1.1 2000 OK\r\n" + length2 + "\r\n{}",
		"HTTP/1.1 +20 OK\r\n" + length2 + "\r\n{}",
		"HTTP/1.1 099 OK\r\n" + length2 + "\r\n{}",
		"http/1.1 200 OK\r\n" + length2 + "\r\n{}",
		"ICY 200 OK\r\n\r\n{}",
		"\x15\x03\x03\x00\x02\x02\x46", // an alert of TLS
		strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 10_000),
		ok1 + strings.Repeat("X: y\r\n", 50_000),
		inChunks + "2\n{}\r\n" + lastOne,
		inChunks + "2\r\n{}\n" + lastOne,
		inChunks + "2\r\n{}" + lastOne,
		inChunks + "2\r{}\r\n" + lastOne,
		inChunks + "-2\r\n{}\r\n" + lastOne,
		inChunks + "0x2\r\n{}\r\n" + lastOne,
		inChunks + "\r\n{}\r\n" + lastOne,
		inChunks + " 2\r\n{}\r\n" + lastOne,
		inChunks + "2 2\r\n{}\r\n" + lastOne,
		inChunks + "2;a\nb\r\n{}\r\n" + lastOne,
		inChunks + "ffffffffffffffff\r\n{}",
		inChunks + "2;" + strings.Repeat("x", 20<<10) + "\r\n{}\r\n" + lastOne,
		inChunks + "2\r\n{}\r\n0\r\n" + strings.Repeat("X: y\r\n", 4<<10) + "\r\n",
		inChunks + "2\r\n{}\r\n0\r\nX: y\n\r\n",
		inChunks + "2\r\n{}\r\n0\r\n\rx",
	} {
		for _, cut := range []int{0, 1} {
			if cut > 0 && len(text) > 1<<10 {
				continue // only long
			}
			overTransportsNamed(t, "", func(t *testing.T, way transport) {
				u := &upstream{text: text, cut: cut}
				p := way.provider(t, provider.Options{BaseURL: u.start(t)})
				got, f := exchange(t.Context(), p, chat(false))
				if f == nil || f.Kind != provider.KindProtocol || !f.Sent() {
					t.Errorf("%.200q: got %q, %v; want %v", text, got, f, provider.KindProtocol)
				}
				if n := u.requests.Load(); n != 1 {
					t.Errorf("%.200q: got %d requests, want 1", text, n)
				}
			})
		}
	}
}

// TestCutAnswersAreRefused cuts whole answers at every byte: no part counts as an answer.
func TestCutAnswersAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		ok1 + length2 + "\r\n{}",
		inChunks + "2;x\r\n{}\r\n0\r\nX: y\r\n\r\n",
	} {
		overTransportsNamed(t, "", func(t *testing.T, way transport) {
			for n := range len(text) {
				u := &upstream{text: text[:n], hangUp: true}
				p := way.provider(t, provider.Options{BaseURL: u.start(t)})
				want := provider.KindTruncated
				if n < strings.Index(text, "\r\n\r\n")+len("\r\n\r\n") {
					want = provider.KindReset
				}
				got, f := exchange(t.Context(), p, chat(false))
				if f == nil || !f.Sent() || f.Kind != want {
					t.Errorf("%q: got %q, %v; want %v", text[:n], got, f, want)
				}
			}
		})
	}
}

// TestPiecesDoNotWait checks that the received part of a chunk is passed on before the chunk is whole.
func TestPiecesDoNotWait(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		p := way.provider(t, provider.Options{BaseURL: rawServer(t, sayAndHang(chunkHead+"ff\r\n"+piece))})
		res := must.Get(p.Do(t.Context(), chat(true)))(t)
		defer func() { _ = res.Body.Close() }()
		buf := make([]byte, len(piece))
		if _, err := io.ReadFull(res.Body, buf); err != nil || string(buf) != piece {
			t.Errorf("got %q, %v; want %q", buf, err, piece)
		}
	})
}

func TestHeaderOfAnAnswer(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		u := &upstream{text: ok1 + "content-type: application/json\r\nX-B:  two words \t\r\nx-b: again\r\nX: \r\n" + length2 + "\r\n{}"}
		p := way.provider(t, provider.Options{BaseURL: u.start(t)})
		res := must.Get(p.Do(t.Context(), chat(false)))(t)
		must.Get(res.ReadAll())(t)
		long := &upstream{text: ok1 + strings.Repeat("X: y\r\n", 5000) + "RETRY-after:  7\r\nContent-Type: " +
			strings.Repeat("x", 2000) + "\r\nretry-after-ms: 9\r\n" + length2 + "\r\n{}"}
		p = way.provider(t, provider.Options{BaseURL: long.start(t)})
		few := must.Get(p.Do(t.Context(), chat(false)))(t)
		must.Get(few.ReadAll())(t)
		for name, want := range map[string]string{"Retry-After": "7", "Retry-After-Ms": "9", "Content-Type": "", "X": ""} {
			if got := few.Header.Get(name); got != want {
				t.Errorf("%s of a long header: got %q, want %q", name, got, want)
			}
		}
		for name, want := range map[string]string{
			"Content-Type": "application/json", "X-B": "two words", "X": "", "Absent": "", "Content": "",
		} {
			if got := res.Header.Get(name); got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
	})
}
