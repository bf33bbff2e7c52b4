package websocket_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	peer "github.com/coder/websocket"

	"weir/internal/must"
	"weir/internal/websocket"
)

func TestMessagesArriveWhole(t *testing.T) {
	t.Parallel()
	address, ends := echoing(t, usual())
	c := dialled(t, address, "other", "echo")
	if got := c.Protocol(); got != "echo" {
		t.Errorf("subprotocol: got %q, want echo", got)
	}
	for _, n := range []int{0, 1, 125, 126, 1 << 10, 1 << 16, 1 << 20} {
		echoes(t, c, strings.Repeat("x", n))
	}
	c.Close(websocket.Normal, "")
	if err := <-ends; websocket.CodeOf(err) != websocket.Normal {
		t.Errorf("end: got %v, want the code 1000", err)
	}
}

// TestDataBehindHandshakeIsRead checks that a message that arrives together with the handshake is not lost.
func TestDataBehindHandshakeIsRead(t *testing.T) {
	t.Parallel()
	address, _ := echoing(t, usual())
	c := must.Get(net.Dial("tcp", address))(t)
	defer c.Close()
	must.Do(t, c.SetDeadline(time.Now().Add(patience)))
	must.Get(io.WriteString(c, handshake+"\r\n"+string(frame(text, []byte("early")))))(t)
	var got []byte
	for !bytes.HasSuffix(got, []byte("\x81\x05early")) {
		piece := make([]byte, 1<<10)
		n, err := c.Read(piece)
		must.Do(t, err)
		got = append(got, piece[:n]...)
	}
}

func TestCompressionIsDeclined(t *testing.T) {
	t.Parallel()
	address, _ := echoing(t, usual())
	_, res := upgraded(t, address, "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n")
	if got := res.Header.Values("Sec-WebSocket-Extensions"); len(got) > 0 {
		t.Errorf("extensions: got %q, want none", got)
	}
}

func TestWrongHandshakesGetReasons(t *testing.T) {
	t.Parallel()
	valid := func() *http.Request {
		r := must.Get(http.NewRequest(http.MethodGet, "/", nil))(t)
		r.Header = http.Header{
			"Connection": {"keep-alive, Upgrade"}, "Upgrade": {"WebSocket"}, "Sec-Websocket-Version": {"13"},
			"Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="},
		}
		return r
	}
	for name, c := range map[string]struct {
		change func(*http.Request)
		want   error
	}{
		"none":                 {func(*http.Request) {}, nil},
		"another version":      {func(r *http.Request) { r.Header.Set("Sec-WebSocket-Version", "8") }, websocket.ErrVersion},
		"no version":           {func(r *http.Request) { r.Header.Del("Sec-WebSocket-Version") }, websocket.ErrVersion},
		"no upgrade":           {func(r *http.Request) { r.Header.Del("Upgrade") }, websocket.ErrVersion},
		"no connection":        {func(r *http.Request) { r.Header.Set("Connection", "keep-alive") }, websocket.ErrVersion},
		"HTTP/1.0":             {func(r *http.Request) { r.ProtoMinor = 0 }, websocket.ErrVersion},
		"HTTP/2":               {func(r *http.Request) { r.ProtoMajor, r.ProtoMinor = 2, 0 }, websocket.ErrVersion},
		"POST":                 {func(r *http.Request) { r.Method = http.MethodPost }, websocket.ErrHandshake},
		"a short key":          {func(r *http.Request) { r.Header.Set("Sec-WebSocket-Key", "YWJj") }, websocket.ErrHandshake},
		"two keys":             {func(r *http.Request) { r.Header.Add("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==") }, websocket.ErrHandshake},
		"no key":               {func(r *http.Request) { r.Header.Del("Sec-WebSocket-Key") }, websocket.ErrHandshake},
		"a body":               {func(r *http.Request) { r.ContentLength = 1 }, websocket.ErrHandshake},
		"a body of any length": {func(r *http.Request) { r.ContentLength = -1 }, websocket.ErrHandshake},
	} {
		r := valid()
		c.change(r)
		if got := websocket.Check(r); !errors.Is(got, c.want) || c.want == nil && got != nil {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// TestHostileFramesEndOneConnection checks that a client that breaks the protocol or a bound loses its connection, and
// that another one continues.
func TestHostileFramesEndOneConnection(t *testing.T) {
	t.Parallel()
	address, ends := echoing(t, websocket.Bounds{Message: 1 << 20, Read: patience, Write: patience})
	other := dialled(t, address)
	echoes(t, other, "before")
	for name, c := range map[string]struct {
		frames []byte
		code   int // of the close frame; 0 for none
	}{
		"no mask":                        {[]byte{text, 1, 'x'}, 0},
		"a compressed frame":             {frame(text|0x40, []byte("x")), 1002},
		"a reserved bit":                 {frame(text|0x10, []byte("x")), 1002},
		"an unknown kind":                {frame(0x83, []byte("x")), 1002},
		"a continuation of nothing":      {frame(continued, []byte("x")), 1002},
		"a text inside a text":           {append(frame(begun, []byte("x")), frame(text, []byte("x"))...), 1002},
		"a long ping":                    {frame(ping, make([]byte, 126)), 1002},
		"a ping in pieces":               {frame(ping&^0x80, []byte("x")), 1002},
		"a close with one byte":          {frame(closed, []byte{3}), 1002},
		"a close with an invalid code":   {frame(closed, []byte{3, 0xee}), 1002},
		"a giant frame":                  {frame(text, make([]byte, 1<<20+1)), 1009},
		"giant frames together":          {append(frame(begun, make([]byte, 1<<19)), frame(0x80, make([]byte, 1<<19+1))...), 1009},
		"a giant frame, only announced":  {[]byte{text, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}, -1},
		"a frame of negative length":     {[]byte{text, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}, 0},
		"a flood of pings":               {bytes.Repeat(frame(ping, nil), 10_000), 0},
		"a flood of empty continuations": {append(frame(begun, nil), bytes.Repeat(frame(continued, nil), 10_000)...), 0},
		"one byte a frame":               {append(frame(begun, nil), bytes.Repeat(frame(continued, []byte("x")), 10_000)...), 0},
	} {
		c := c
		client, _ := upgraded(t, address, "")
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_, _ = client.Write(c.frames)
		}()
		if c.code < 0 { // nothing is allocated for it, and it ends with the time for a message
			echoes(t, other, name)
			_ = client.Close()
			<-ends
			<-sent
			continue
		}
		if got := client.code(); got != c.code {
			t.Errorf("%s: got the code %d, want %d", name, got, c.code)
		}
		_ = client.Close()
		if err := <-ends; err == nil {
			t.Errorf("%s: the connection has not ended", name)
		}
		<-sent
		echoes(t, other, name)
	}
}

// TestOrdinaryFramesAreNoFlood is the negative control of the floods: many pings over time and content, and a message
// in many frames.
func TestOrdinaryFramesAreNoFlood(t *testing.T) {
	t.Parallel()
	address, _ := echoing(t, usual())
	client, _ := upgraded(t, address, "")
	piece := make([]byte, 64)
	all := append(frame(begun, nil), bytes.Repeat(append(frame(continued, piece), frame(ping, nil)...), 1)...)
	for range 10_000 {
		all = append(all, frame(continued, piece)...)
	}
	all = append(append(all, frame(0x80, nil)...), frame(closed, []byte{3, 0xe8})...)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = client.Write(all)
	}()
	if got := client.code(); got != 1000 {
		t.Errorf("a message in 10000 frames: got the code %d, want 1000", got)
	}
	<-sent
}

func TestSlowMessageEnds(t *testing.T) {
	t.Parallel()
	address, ends := echoing(t, websocket.Bounds{Message: 1 << 20, Read: time.Millisecond, Write: patience})
	client, _ := upgraded(t, address, "")
	must.Get(client.Write(frame(text, []byte("whole"))[:8]))(t) // the rest never comes
	if err := <-ends; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a message that does not arrive: got %v, want a deadline", err)
	}
}

func TestSlowReaderEnds(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	address := handled(t, func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, websocket.Bounds{Message: 1, Read: patience, Write: time.Millisecond})
		for err == nil {
			err = c.Send(websocket.Text, make([]byte, 1<<20))
		}
		ended <- err
	})
	upgraded(t, address, "") // reads nothing more
	if err := <-ended; err == nil {
		t.Error("a client that does not read: got no end")
	}
}

// TestPingNeedsAnswer checks that a peer that answers pings keeps its connection, and that another loses it.
func TestPingNeedsAnswer(t *testing.T) {
	t.Parallel()
	pinged := make(chan error, 2)
	address := handled(t, func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, usual())
		if err != nil {
			return
		}
		received := make(chan struct{})
		go func() {
			defer close(received)
			_, _, _ = c.Receive(nil)
		}()
		within := patience
		if r.Header.Get("X-Deaf") != "" {
			within = 10 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		pinged <- c.Ping(ctx)
		c.Abort()
		<-received
	})
	upgraded(t, address, "X-Deaf: yes\r\n")
	if err := <-pinged; err == nil {
		t.Error("a peer without answers: got no error")
	}
	c := dialled(t, address)
	_, _, _ = c.Receive(nil)
	if err := <-pinged; err != nil {
		t.Errorf("a peer that answers: got %v", err)
	}
}

// TestPingEndsWithLostConnection checks that a ping does not wait for the answer of a peer that is gone, or of a
// connection that this side has given up.
func TestPingEndsWithLostConnection(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"peer", "us"} {
		pinged := make(chan error, 1)
		address := handled(t, func(w http.ResponseWriter, r *http.Request) {
			c, err := websocket.Accept(w, r, usual())
			if err != nil {
				return
			}
			ended := make(chan error, 1)
			go func() { ended <- c.Ping(t.Context()) }()
			if by == "us" {
				c.Abort()
			} else {
				_, _, _ = c.Receive(nil)
			}
			pinged <- <-ended
		})
		client, _ := upgraded(t, address, "")
		if by == "peer" {
			must.Get(client.in.ReadByte())(t) // the ping
			must.Do(t, client.Close())
		}
		select {
		case err := <-pinged:
			if err == nil {
				t.Errorf("lost by %s: got no error", by)
			}
		case <-time.After(patience):
			t.Fatalf("lost by %s: the ping still waits", by)
		}
	}
}

// TestFewPingsAreAnswered checks that a client gets the answers to some pings at once, and not to a flood of them.
func TestFewPingsAreAnswered(t *testing.T) {
	t.Parallel()
	address, _ := echoing(t, usual())
	client, _ := upgraded(t, address, "")
	must.Get(client.Write(append(bytes.Repeat(frame(ping, nil), 1000), frame(closed, []byte{3, 0xe8})...)))(t)
	pongs := bytes.Count(must.Get(io.ReadAll(client.in))(t), []byte{0x8a, 0})
	if pongs < 16 || pongs > 100 {
		t.Errorf("got %d answers to 1000 pings, want 16 a second", pongs)
	}
}

// TestCloseTellsReason checks that a close frame reaches the peer while the other goroutine receives.
func TestCloseTellsReason(t *testing.T) {
	t.Parallel()
	address := handled(t, func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, usual())
		if err != nil {
			return
		}
		go c.Close(websocket.Restart, strings.Repeat("ä", 100)) // longer than a frame permits, by a part of a letter
		_, _, _ = c.Receive(nil)
	})
	c, _, err := peer.Dial(t.Context(), "ws://"+address+"/", nil)
	must.Do(t, err)
	_, _, err = c.Read(t.Context())
	e, _ := errors.AsType[peer.CloseError](err)
	if e.Code != peer.StatusServiceRestart || e.Reason != strings.Repeat("ä", 61) {
		t.Errorf("got %v, want the code 1012 and 61 letters", err)
	}
}

// TestPingDoesNotEndClosing checks that the answer to a close frame is awaited although a ping comes before it: a
// connection that is closed at once may lose sent bytes.
func TestPingDoesNotEndClosing(t *testing.T) {
	t.Parallel()
	ends := make(chan error, 1)
	address := handled(t, func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, usual())
		if err != nil {
			return
		}
		var closing sync.WaitGroup
		closing.Go(func() { c.Close(websocket.Restart, "") })
		_, _, err = c.Receive(nil)
		closing.Wait()
		ends <- err
	})
	c, _ := upgraded(t, address, "")
	if got := c.code(); got != int(websocket.Restart) {
		t.Errorf("got the code %d, want 1012", got)
	}
	must.Get(c.Write(append(frame(ping, []byte("late")), frame(closed, []byte{3, 232})...)))(t)
	if err := <-ends; websocket.CodeOf(err) != websocket.Normal {
		t.Errorf("got %v, want the client's code 1000", err)
	}
}

// TestRefusalOfHandshakeIsReturned checks that a server's refusal reaches the caller with its body.
func TestRefusalOfHandshakeIsReturned(t *testing.T) {
	t.Parallel()
	address := handled(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no such model", http.StatusNotFound)
	})
	conn := must.Get(net.Dial("tcp", address))(t)
	c, res, err := websocket.Dial(t.Context(), conn, "http://"+address+"/", nil, usual())
	if c != nil || err == nil || res == nil || res.StatusCode != http.StatusNotFound {
		t.Fatalf("got %v, %v, %v, want 404", c, res, err)
	}
	if body := must.Get(io.ReadAll(res.Body))(t); string(body) != "no such model\n" {
		t.Errorf("body: got %q", body)
	}
}

func TestHandshakeEndsWithContext(t *testing.T) {
	t.Parallel()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t) // never accepts
	defer l.Close()
	conn := must.Get(net.Dial("tcp", l.Addr().String()))(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, _, err := websocket.Dial(ctx, conn, "http://x/", nil, usual()); err == nil {
		t.Error("got no error, want one")
	}
}

// TestServeOutlivesHandler checks that a WebSocket is served when its handler has returned, and that its context ends
// when the client leaves.
func TestServeOutlivesHandler(t *testing.T) {
	t.Parallel()
	returned, left := make(chan struct{}), make(chan struct{})
	address := handled(t, func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, usual())
		if err != nil {
			return
		}
		defer close(returned)
		c.Serve(r.Context(), func(ctx context.Context) {
			<-returned
			kind, text, err := c.Receive(nil)
			if err == nil {
				err = c.Send(kind, text)
			}
			if <-ctx.Done(); err == nil {
				close(left)
			}
		})
	})
	c := dialled(t, address)
	echoes(t, c, "after the handler")
	c.Abort()
	<-left
}
