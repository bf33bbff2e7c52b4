package provider_test

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // the protocol's
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/dialect"
	"weir/internal/must"
	"weir/internal/provider"
	"weir/internal/websocket"
)

// TestLongMessagesArriveInPieces checks that a message is passed on while it arrives, whatever its length and wherever
// its type is, and that a kept WebSocket serves the next request afterwards.
func TestLongMessagesArriveInPieces(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200<<10)
	for name, messages := range map[string][]string{
		"type first": {`{"type":"part","text":"` + long + long + `"}`, `{"type":"end","text":"` + long + long + `"}`},
		"type last":  {`{"text":"` + long + `","type":"part"}`, `{"text":"` + long + `","type":"end"}`},
	} {
		s := newTeller(t, saying(messages...))
		p := s.provider(t, transports[0])
		want := "event: part\ndata: " + messages[0] + "\n\nevent: end\ndata: " + messages[1] + "\n\n"
		for range 2 {
			if text, f := exchange(t.Context(), p, chat(true)); f != nil || string(text) != want {
				t.Errorf("%s: got %d bytes, %v, want %d", name, len(text), f, len(want))
			}
		}
		if s.opened.Load() != 1 || s.posted.Load() != 0 {
			t.Errorf("%s: got %d WebSockets and %d requests over HTTP, want 1 and 0", name, s.opened.Load(), s.posted.Load())
		}
	}
}

// TestPieceOfMessageIsReadBeforeItsEnd checks that the beginning of a message can be read while the provider has not
// sent the rest, so that no whole message is in memory.
func TestPieceOfMessageIsReadBeforeItsEnd(t *testing.T) {
	t.Parallel()
	read := make(chan struct{})
	s := newTeller(t, func(_ int64, c *websocket.Conn) {
		_, _, _ = c.Receive(nil)
		_ = c.Send(websocket.Text, []byte(`{"type":"begin"}`))
		<-read
		c.Break([]byte(`{"type":"end","text":"`))
	})
	res, err := s.provider(t, transports[0]).Do(t.Context(), chat(true))
	must.Do(t, err)
	close(read)
	text, err := io.ReadAll(res.Body)
	want := "event: begin\ndata: {\"type\":\"begin\"}\n\nevent: end\ndata: {\"type\":\"end\",\"text\":\""
	if f := provider.AsFailure(err); string(text) != want || f.Kind != provider.KindTruncated {
		t.Errorf("got %q, %v, want %q and %v", text, err, want, provider.KindTruncated)
	}
	res.Release()
}

// TestIDInPiecesIsNoOtherID checks that an id of which only a part has arrived is not taken for another one.
func TestIDInPiecesIsNoOtherID(t *testing.T) {
	t.Parallel()
	s := newTeller(t, func(_ int64, c *websocket.Conn) {
		_, _, _ = c.Receive(nil)
		_ = c.Send(websocket.Text, []byte(`{"type":"begin","answer":{"id":"answer-1"}}`))
		c.Break([]byte(`{"type":"end","answer":{"id":"answ`))
	})
	_, f := exchange(t.Context(), s.provider(t, transports[0]), chat(true))
	if f == nil || f.Kind != provider.KindTruncated {
		t.Errorf("got %v, want %v", f, provider.KindTruncated)
	}
}

// TestMessagesBesideAnswerAreLeftOut checks that messages which are no part of an answer reach no client, and that an
// error behind them is still that of its status.
func TestMessagesBesideAnswerAreLeftOut(t *testing.T) {
	t.Parallel()
	limits := `{"type":"limits.rate","used":"` + strings.Repeat("9", 20<<10) + `"}`
	s := newTeller(t, saying(limits, `{"type":"begin"}`, limits, `{"type":"end"}`))
	text, f := exchange(t.Context(), s.provider(t, transports[0]), chat(true))
	if want := "event: begin\ndata: {\"type\":\"begin\"}\n\nevent: end\ndata: {\"type\":\"end\"}\n\n"; string(text) != want || f != nil {
		t.Errorf("got %.200q, %v, want %q", text, f, want)
	}
	s = newTeller(t, saying(limits, `{"type":"error","status_code":503,"error":{"message":"full"},"headers":{"retry-after":4}}`))
	_, f = exchange(t.Context(), s.provider(t, transports[0]), chat(true))
	if f == nil || f.Status != 503 || f.RetryAfter != 4*time.Second {
		t.Errorf("got %+v, want the status 503", f)
	}
}

// TestRequestOnTooOldWebSocketIsSentOverHTTP checks that a request which the provider refuses because of the WebSocket's
// age is sent once more, with the same permission, and that the same error for another reason is the answer.
func TestRequestOnTooOldWebSocketIsSentOverHTTP(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{"too_old": onHTTP, "too_long": ""} {
		s := newTeller(t, saying(`{"type":"error","status":400,"error":{"message":"no","code":"`+code+`"}}`))
		c := chat(true)
		text, f := exchange(t.Context(), s.provider(t, transports[0]), c)
		if string(text) != want || (f == nil) != (want != "") || c.Hold.(*permit).used != 1 || s.opened.Load() != 1 {
			t.Errorf("%s: got %q, %v and %d WebSockets", code, text, f, s.opened.Load())
		}
	}
}

// TestHostileMessagesAreFailures checks that a provider which breaks the protocol ends its answer, and nothing else.
func TestHostileMessagesAreFailures(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300<<10)
	for name, play := range map[string]func(c *websocket.Conn) error{
		"a message without a type that never ends": func(c *websocket.Conn) error {
			return c.Send(websocket.Text, []byte(`{"text":"`+long+`"}`))
		},
		"a long error": func(c *websocket.Conn) error {
			return c.Send(websocket.Text, []byte(`{"type":"error","text":"`+long+`"}`))
		},
		"the end of another answer": func(c *websocket.Conn) error {
			_ = c.Send(websocket.Text, []byte(`{"type":"begin","answer":{"id":"a"}}`))
			return c.Send(websocket.Text, []byte(`{"type":"end","answer":{"id":"b"}}`))
		},
		"two answers in one": func(c *websocket.Conn) error {
			_ = c.Send(websocket.Text, []byte(`{"type":"begin","answer":{"id":"a"}}`))
			return c.Send(websocket.Text, []byte(`{"type":"begin","answer":{"id":"b"}}`))
		},
		"a flood of pings": func(c *websocket.Conn) error {
			for {
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				if err := c.Ping(ctx); !errors.Is(err, context.Canceled) {
					return err
				}
			}
		},
	} {
		s := newTeller(t, func(_ int64, c *websocket.Conn) {
			if _, _, err := c.Receive(nil); err == nil && play(c) == nil {
				_, _, _ = c.Receive(nil)
			}
		})
		p := s.provider(t, transports[0])
		_, f := exchange(t.Context(), p, chat(true))
		if f == nil || !f.Sent() || f.Kind != provider.KindProtocol && f.Kind != provider.KindReset || s.posted.Load() != 0 {
			t.Errorf("%s: got %v and %d requests over HTTP", name, f, s.posted.Load())
		}
		if p.InFlight() != 0 {
			t.Errorf("%s: %d requests are counted in flight", name, p.InFlight())
		}
	}
}

// TestEndlessFramesEndAnswer checks that a message which never ends, and one of frames without content, is a failure
// within the bounds of a reply.
func TestEndlessFramesEndAnswer(t *testing.T) {
	t.Parallel()
	begin := append([]byte{0x01, 20}, `{"type":"part","a":"`...) // with further frames
	for name, frame := range map[string][]byte{
		"content": append([]byte{0x00, 126, 0x10, 0x00}, make([]byte, 0x1000)...), "no content": {0x00, 0x00},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // the protocol's
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer func() { _ = c.Close() }()
			_, err = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
				"Sec-WebSocket-Accept: "+base64.StdEncoding.EncodeToString(sum[:])+"\r\n\r\n"+string(begin))
			for all := bytes.Repeat(frame, 64); err == nil; {
				_, err = c.Write(all)
			}
		}))
		t.Cleanup(s.Close)
		p := newProvider(t, provider.Options{BaseURL: s.URL, Dialect: withSockets(), Sockets: noRefusal, MaxReply: 1 << 20})
		text, f := exchange(t.Context(), p, chat(true))
		if f == nil || f.Kind != provider.KindProtocol || len(text) > 2<<20 {
			t.Errorf("%s: got %d bytes and %v, want %v", name, len(text), f, provider.KindProtocol)
		}
	}
}

// TestHeadersOfOneRequestAreNotThoseOfWebSocket checks that requests which differ in headers for one request share a
// WebSocket, and that those which differ in others do not.
func TestHeadersOfOneRequestAreNotThoseOfWebSocket(t *testing.T) {
	t.Parallel()
	for name, opened := range map[string]int64{"X-Turn": 1, "X-Beta": 3} {
		s := newTeller(t, saying(`{"type":"end"}`))
		p := s.provider(t, transports[0])
		for _, value := range []string{"one", "two", "three"} {
			c := chat(true)
			c.Header = []dialect.Header{{Name: name, Value: value}}
			if _, f := exchange(t.Context(), p, c); f != nil {
				t.Errorf("%s: %v", name, f)
			}
		}
		if s.opened.Load() != opened {
			t.Errorf("%s: got %d WebSockets, want %d", name, s.opened.Load(), opened)
		}
	}
}

// TestCancelledRequestLeavesNothingForTheNext checks that a late answer to a cancelled request is not the answer to the
// next one.
func TestCancelledRequestLeavesNothingForTheNext(t *testing.T) {
	t.Parallel()
	received, canceled := make(chan struct{}), make(chan struct{})
	s := newTeller(t, func(number int64, c *websocket.Conn) {
		_, _, _ = c.Receive(nil)
		if number == 1 {
			close(received)
			<-canceled
			_ = c.Send(websocket.Text, []byte(`{"type":"end","by":"the first"}`))
			return
		}
		_ = c.Send(websocket.Text, []byte(`{"type":"end","by":"the second"}`))
	})
	p := s.provider(t, transports[0])
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-received
		cancel()
	}()
	if _, f := exchange(ctx, p, chat(true)); f == nil || f.Kind != provider.KindCanceled || !f.Sent() {
		t.Errorf("got %v, want %v of a request that was sent", f, provider.KindCanceled)
	}
	close(canceled)
	text, f := exchange(t.Context(), p, chat(true))
	if want := "event: end\ndata: {\"type\":\"end\",\"by\":\"the second\"}\n\n"; f != nil || string(text) != want {
		t.Errorf("got %q, %v, want %q", text, f, want)
	}
}

// TestAnswerThatComesTwiceIsNotTheNextOne checks that the repeated end of an answer, which comes when the WebSocket
// serves another request already, is not the answer to that one, which may be another account's.
func TestAnswerThatComesTwiceIsNotTheNextOne(t *testing.T) {
	t.Parallel()
	s := newTeller(t, func(_ int64, c *websocket.Conn) {
		for range 2 {
			_, _, _ = c.Receive(nil)
			_ = c.Send(websocket.Text, []byte(`{"type":"end","answer":{"id":"answer-1","text":"secret"}}`))
		}
		_, _, _ = c.Receive(nil)
	})
	p := s.provider(t, transports[0])
	if _, f := exchange(t.Context(), p, chat(true)); f != nil {
		t.Errorf("first: %v", f)
	}
	text, f := exchange(t.Context(), p, chat(true))
	if f == nil || f.Kind != provider.KindProtocol || !f.Sent() || strings.Contains(string(text), "secret") {
		t.Errorf("got %q, %v; want no text and %v", text, f, provider.KindProtocol)
	}
	if s.opened.Load() != 1 || s.posted.Load() != 0 {
		t.Errorf("got %d WebSockets and %d requests over HTTP, want 1 and 0", s.opened.Load(), s.posted.Load())
	}
}
