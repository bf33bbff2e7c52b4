package provider_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/provider"
	"weir/internal/sse"
)

const (
	streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
	chunkHead  = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	piece      = "data: {\"a\":1}\n\n"
	errorText  = `{"error":{"message":"too big","type":"invalid_request_error","param":"messages"}}`
)

func whole(status, headers, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n%s", status, len(body), headers, body)
}

func jsonReply(body string) string {
	return whole("200 OK", "Content-Type: application/json; charset=utf-8\r\n", body)
}

// brief returns short timers that a test waits for; the others are longer than any test.
func brief(set func(*provider.Timeouts)) provider.Timeouts {
	t := provider.Timeouts{Connect: patience, FirstByte: patience, Idle: patience, Total: patience}
	set(&t)
	return t
}

func TestProviderFaults(t *testing.T) {
	t.Parallel()
	const soon = 100 * time.Millisecond
	firstByte := func(d time.Duration) provider.Timeouts { return brief(func(t *provider.Timeouts) { t.FirstByte = d }) }
	idle := func(d time.Duration) provider.Timeouts { return brief(func(t *provider.Timeouts) { t.Idle = d }) }
	total := func(d time.Duration) provider.Timeouts { return brief(func(t *provider.Timeouts) { t.Total = 3 * d }) }
	patient := func(time.Duration) provider.Timeouts { return brief(func(*provider.Timeouts) {}) }
	const timeout, broken = llm.CodeProviderTimeout, llm.CodeProviderError
	cases := []struct {
		name     string
		stream   bool
		play     script
		timeouts func(d time.Duration) provider.Timeouts
		kind     provider.Kind // 0: a whole answer
		code     llm.Code
		answer   string
	}{
		{"silence after accept", false, sayAndHang(""), firstByte, provider.KindFirstByteTimeout, timeout, ""},
		{"silence after accept, stream", true, sayAndHang(""), firstByte, provider.KindFirstByteTimeout, timeout, ""},
		{"headers then silence", true, sayAndHang(streamHead), firstByte, provider.KindFirstByteTimeout, timeout, ""},
		{"headers then silence, whole", false, sayAndHang("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"), firstByte, provider.KindFirstByteTimeout, timeout, ""},
		{"one chunk then silence", true, sayAndHang(streamHead + piece), idle, provider.KindIdleTimeout, timeout, ""},
		{"silence in a whole reply", false, sayAndHang("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"), idle, provider.KindIdleTimeout, timeout, ""},
		{"slow loris", true, drip(streamHead, ":", soon/4), total, provider.KindTotalTimeout, timeout, ""},
		{"slow loris in headers", true, drip("HTTP/1.1 200 OK\r\nX: ", "x", soon/4), total, provider.KindTotalTimeout, timeout, ""},
		{"slow loris in an error body", true, drip("HTTP/1.1 503 Unavailable\r\n\r\n", "x", soon/4), total, provider.KindStatus, llm.CodeProviderUnavailable, ""},
		{"half-close after k bytes", true, halfClose(chunkHead + "f\r\n" + piece), patient, provider.KindTruncated, broken, ""},
		{"closed in a whole reply", false, say("HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{}"), patient, provider.KindTruncated, broken, ""},
		{"reset in a chunk", true, reset(chunkHead + "ff\r\n" + piece), patient, provider.KindReset, broken, ""},
		{"closed before an answer", false, say(""), patient, provider.KindReset, broken, ""},
		{"reset before an answer", false, reset(""), patient, provider.KindReset, broken, ""},
		{"clean end", true, say(streamHead + piece), patient, 0, "", piece},
		{"no content type", true, say("HTTP/1.1 200 OK\r\n\r\n" + piece), patient, 0, "", piece},
		{"HTML", false, say(whole("200 OK", "Content-Type: text/html\r\n", "<html>")), patient, provider.KindProtocol, broken, ""},
		{"HTML, stream", true, say(whole("200 OK", "Content-Type: text/html\r\n", "<html>")), patient, provider.KindProtocol, broken, ""},
		{"text, stream", true, say(whole("200 OK", "Content-Type: text/plain\r\n", "hello")), patient, provider.KindProtocol, broken, ""},
		{"a content type that is none", true, say(whole("200 OK", "Content-Type: ;;\r\n", "hello")), patient, provider.KindProtocol, broken, ""},
		{"stream, not asked for", false, say(streamHead + piece), patient, provider.KindProtocol, broken, ""},
		{"JSON error", false, say(jsonReply(errorText)), patient, provider.KindStatus, llm.CodeInvalidRequest, ""},
		{"JSON error, stream", true, say(jsonReply(errorText)), patient, provider.KindStatus, llm.CodeInvalidRequest, ""},
		{"JSON error with a number", true, say(jsonReply(`{"error":{"code":429,"message":"slow"}}`)), patient, provider.KindStatus, llm.CodeRateLimited, ""},
		{"JSON error without a hint", false, say(jsonReply(`{"error":"no"}`)), patient, provider.KindStatus, broken, ""},
		{"JSON answer, stream", true, say(jsonReply(`{"choices":[]}`)), patient, 0, "", `{"choices":[]}`},
		{"an answer that speaks of errors", false, say(jsonReply(`{"choices":["\"error\""],"error":null}`)), patient, 0, "", `{"choices":["\"error\""],"error":null}`},
		{"created", false, say(whole("201 Created", "Content-Type: application/json\r\n", `{"choices":[]}`)), patient, 0, "", `{"choices":[]}`},
		{"accepted for later", false, say(whole("202 Accepted", "Content-Type: application/json\r\n", `{"id":"job"}`)), patient, provider.KindProtocol, broken, ""},
		{"accepted for later, stream", true, say(whole("202 Accepted", "Content-Type: application/json\r\n", `{"id":"job"}`)), patient, provider.KindProtocol, broken, ""},
		{"no content", false, say("HTTP/1.1 204 No Content\r\n\r\n"), patient, provider.KindProtocol, broken, ""},
		{"a part of it", false, say(whole("206 Partial Content", "Content-Type: application/json\r\n", `{"choices":[]}`)), patient, provider.KindProtocol, broken, ""},
		{"gzip, not asked for", false, say(whole("200 OK", "Content-Encoding: gzip\r\n", "\x1f\x8b")), patient, provider.KindProtocol, broken, ""},
		{"content length too short", false, say("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}{}"), patient, 0, "", "{}"},
		{"two content lengths", false, say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}"), patient, provider.KindProtocol, broken, ""},
		{"not HTTP", false, say("SSH-2.0-OpenSSH_9.9\r\n\r\n"), patient, provider.KindProtocol, broken, ""},
		{"broken chunk", true, say(chunkHead + "zz\r\n" + piece), patient, provider.KindProtocol, broken, ""},
		{"endless header", false, endless("HTTP/1.1 200 OK\r\nX: "), patient, provider.KindProtocol, broken, ""},
		{"endless whole reply", false, endless("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"), patient, provider.KindProtocol, broken, ""},
		{"endless error body", false, endless("HTTP/1.1 500 Oops\r\n\r\n"), patient, provider.KindStatus, broken, ""},
		{"103 early hints", false, say("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + jsonReply("{}")), patient, 0, "", "{}"},
		{"100 continue", false, say("HTTP/1.1 100 Continue\r\n\r\n" + jsonReply("{}")), patient, 0, "", "{}"},
		{"101 switching protocols", false, say("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"), patient, provider.KindProtocol, broken, ""},
		{"redirect", false, say(whole("307 Temporary Redirect", "Location: http://169.254.169.254/latest\r\n", "")), patient, provider.KindProtocol, broken, ""},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			overTransports(t, func(t *testing.T, way transport) {
				o := provider.Options{BaseURL: rawServer(t, tc.play), MaxReply: 1 << 20}
				var text []byte
				var f *provider.Failure
				// On a busy machine connecting may take longer than that: then there is more time.
				for d := soon; d < patience && (d == soon || f != nil && !f.Sent()); d *= 2 {
					o.Timeouts = tc.timeouts(d)
					text, f = exchange(t.Context(), way.provider(t, o), chat(tc.stream))
				}
				if tc.kind == 0 {
					if f != nil || string(text) != tc.answer {
						t.Fatalf("got %q, failure %v; want %q", text, f, tc.answer)
					}
					return
				}
				if f == nil {
					t.Fatalf("got the answer %q, want %v", text, tc.kind)
				}
				if f.Kind != tc.kind || f.Err.Code != tc.code || !f.Sent() {
					t.Errorf("got %v, %s, sent %t (%v); want %v, %s, sent true", f.Kind, f.Err.Code, f.Sent(), f, tc.kind, tc.code)
				}
			})
		})
	}
}

// drip sends the head, and then the same piece over and over.
func drip(head, piece string, every time.Duration) script {
	return func(c *net.TCPConn) {
		_, err := io.WriteString(c, head)
		for err == nil {
			time.Sleep(every)
			_, err = io.WriteString(c, piece)
		}
	}
}

// endless sends the head and then one line that does not end.
func endless(head string) script {
	return func(c *net.TCPConn) {
		_, err := io.WriteString(c, head)
		line := strings.Repeat("x", 64<<10)
		for err == nil {
			_, err = io.WriteString(c, line)
		}
	}
}

// halfClose sends the text and then no more, while it still listens.
func halfClose(text string) script {
	return func(c *net.TCPConn) {
		_, _ = io.WriteString(c, text)
		_ = c.CloseWrite()
		_, _ = io.Copy(io.Discard, c)
	}
}

// reset sends the text and then a TCP reset.
func reset(text string) script {
	return func(c *net.TCPConn) {
		_, _ = io.WriteString(c, text)
		time.Sleep(20 * time.Millisecond) // a reset overtakes unread data
		_ = c.SetLinger(0)
	}
}

func TestEndlessLineIsBoundedByTheReader(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		p := way.provider(t, provider.Options{BaseURL: rawServer(t, endless(streamHead+"data: "))})
		res, err := p.Do(t.Context(), chat(true))
		must.Do(t, err)
		defer func() { _ = res.Body.Close() }()
		_, err = sse.NewReader(res.Body, 1<<20).Next()
		if f := provider.AsFailure(err); f.Kind != provider.KindProtocol {
			t.Errorf("got %v, want %v", f, provider.KindProtocol)
		}
	})
}

// TestStreamSurvivesTheReader checks that a Failure passes through a reader of events.
func TestStreamSurvivesTheReader(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		read := make(chan struct{})
		base := rawServer(t, func(c *net.TCPConn) {
			_, _ = io.WriteString(c, chunkHead+"f\r\n"+piece+"\r\n")
			<-read
			_ = c.SetLinger(0)
		})
		p := way.provider(t, provider.Options{BaseURL: base})
		res, err := p.Do(t.Context(), chat(true))
		if err != nil {
			close(read)
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		events := sse.NewReader(res.Body, 1<<20)
		if ev, err := events.Next(); err != nil || string(ev.Data) != `{"a":1}` {
			t.Errorf("got %q, %v, want the piece", ev.Data, err)
		}
		close(read)
		_, err = events.Next()
		if f := provider.AsFailure(err); f.Kind != provider.KindReset {
			t.Errorf("got %v, want %v", f, provider.KindReset)
		}
	})
}

func TestClientThatLeaves(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		for _, said := range []string{
			"", "HTTP/1.1 2", ok1 + "X:", "HTTP/1.1 103 Early Hints\r\n\r\n", streamHead, streamHead + piece,
			chunkHead, chunkHead + "f", chunkHead + "f\r\n" + piece, chunkHead + "f\r\n" + piece + "\r\n",
			chunkHead + "f\r\n" + piece + "\r\n0\r\nX: ", ok1 + "Content-Length: 9\r\n\r\n{",
		} {
			asked, gone := make(chan struct{}, 1), make(chan struct{}, 1)
			base := rawServer(t, func(c *net.TCPConn) {
				select {
				case asked <- struct{}{}:
				default: // a connection that was opened and never used
					return
				}
				sayAndHang(said)(c)
				gone <- struct{}{}
			})
			p := way.provider(t, provider.Options{BaseURL: base})
			ctx, leave := context.WithCancel(t.Context())
			go func() {
				<-asked
				time.Sleep(20 * time.Millisecond) // at any point of the answer
				leave()
			}()
			_, f := exchange(ctx, p, chat(true))
			if f == nil || f.Kind != provider.KindCanceled {
				t.Errorf("after %q: got %v, want %v, not to be retried", said, f, provider.KindCanceled)
			}
			<-gone
		}
	})
}

// TestCloseAbortsAnswer checks that closing an answer aborts it at once.
func TestCloseAbortsAnswer(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		gone := make(chan struct{})
		base := rawServer(t, func(c *net.TCPConn) {
			sayAndHang(streamHead + piece)(c)
			close(gone)
		})
		p := way.provider(t, provider.Options{BaseURL: base})
		res := must.Get(p.Do(t.Context(), chat(true)))(t)
		_ = res.Body.Close()
		select {
		case <-gone:
		case <-time.After(patience / 2):
			t.Error("the connection is still open")
		}
	})
}
