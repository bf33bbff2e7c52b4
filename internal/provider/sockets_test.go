package provider_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/credential"
	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/provider"
	"weir/internal/websocket"
)

// withSockets returns openaiLike with streams over WebSockets.
func withSockets() *dialect.Dialect {
	d := openaiLike()
	d.Framing.Socket = &dialect.Socket{
		Create: "create", Without: []string{"stream"}, HTTPOnly: []string{"background"}, PerRequest: []string{"X-Turn"},
		First: "begin", Last: []string{"end"}, ID: []string{"answer", "id"}, Error: "error", TooOld: []string{"too_old"},
		Ignored: []string{"limits."},
	}
	return d
}

// noRefusal expects that no provider refuses a WebSocket.
func noRefusal(err error) { panic(err) }

// teller is a provider with WebSockets that runs a script on each, and answers any request over HTTP.
type teller struct {
	base           string
	opened, posted atomic.Int64
}

// onHTTP is the answer of a teller over HTTP.
const onHTTP = "event: end\ndata: {\"type\":\"end\",\"by\":\"HTTP\"}\n\n"

func newTeller(t *testing.T, play func(number int64, c *websocket.Conn)) *teller {
	p := &teller{}
	var running sync.WaitGroup
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !websocket.IsUpgrade(r) {
			p.posted.Add(1)
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, onHTTP)
			return
		}
		if r.Header.Get("X-Client-Request-Id") != "" || r.Header.Get("Authorization") != "Bearer "+testKey {
			t.Errorf("got the headers %v", r.Header)
		}
		running.Add(1)
		defer running.Done()
		c, err := websocket.Accept(w, r, usualBounds())
		if err != nil {
			return
		}
		defer c.Abort()
		play(p.opened.Add(1), c)
	}))
	t.Cleanup(func() {
		s.Close()
		running.Wait()
	})
	p.base = s.URL + "/v1"
	return p
}

// provider returns a client of the teller.
func (p *teller) provider(t *testing.T, way transport) *provider.Provider {
	return way.provider(t, provider.Options{BaseURL: p.base, Dialect: withSockets(), Sockets: noRefusal})
}

// saying answers each message with these.
func saying(messages ...string) func(int64, *websocket.Conn) {
	return func(_ int64, c *websocket.Conn) {
		for {
			if _, _, err := c.Receive(nil); err != nil {
				return
			}
			for _, m := range messages {
				if c.Send(websocket.Text, []byte(m)) != nil {
					return
				}
			}
		}
	}
}

// TestMessagesBecomeEvents checks that a request is one message with the fields of its body, that the messages of the
// answer become the events of a stream, and that a WebSocket serves further requests.
func TestMessagesBecomeEvents(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		got := make(chan string, 2)
		s := newTeller(t, func(_ int64, c *websocket.Conn) {
			for {
				_, text, err := c.Receive(nil)
				if err != nil {
					return
				}
				got <- string(text)
				_ = c.Send(websocket.Text, []byte("{\"type\":\"part\",\r\n\"n\":1}"))
				_ = c.Send(websocket.Text, []byte(`{"n":2}`))
				_ = c.Send(websocket.Text, []byte(`{"type":"end"}`))
			}
		})
		p := s.provider(t, way)
		for range 2 {
			c := chat(true)
			c.Body = []byte(`{"stream":true,"model":"small","background":false,"input":[1, 2]}`)
			text, f := exchange(t.Context(), p, c)
			want := "event: part\ndata: {\"type\":\"part\",  \"n\":1}\n\ndata: {\"n\":2}\n\nevent: end\ndata: {\"type\":\"end\"}\n\n"
			if f != nil || string(text) != want || c.Hold.(*permit).used != 1 {
				t.Errorf("got %q, %v, want %q", text, f, want)
			}
			asked := `{"type":"create","model":"small","background":false,"input":[1, 2]}`
			if text := <-got; text != asked {
				t.Errorf("the provider got %s, want %s", text, asked)
			}
		}
		if s.opened.Load() != 1 || s.posted.Load() != 0 {
			t.Errorf("got %d WebSockets and %d requests over HTTP, want 1 and 0", s.opened.Load(), s.posted.Load())
		}
	})
}

// TestSomeRequestsStayOnHTTP checks which requests are sent over HTTP to a provider with WebSockets.
func TestSomeRequestsStayOnHTTP(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"a background one": `{"background":true}`, "a long one": `{"input":"` + strings.Repeat("x", 1<<20) + `"}`,
		"one with a type": `{"type":"x"}`,
	} {
		s := newTeller(t, saying(`{"type":"end"}`))
		c := chat(true)
		c.Body = []byte(body)
		text, f := exchange(t.Context(), s.provider(t, transports[0]), c)
		if string(text) != onHTTP || f != nil || s.opened.Load() != 0 {
			t.Errorf("%s: got %q, %v and %d WebSockets", name, text, f, s.opened.Load())
		}
	}
}

// TestErrorMessagesAreStatuses checks that an error before an answer is that of its status, that one inside of it is an
// event, and that neither WebSocket is used again.
func TestErrorMessagesAreStatuses(t *testing.T) {
	t.Parallel()
	refusal := `{"type":"error","status":429,"error":{"message":"slow","type":"rate_limit"},"headers":{"retry-after":"3"}}`
	s := newTeller(t, saying(refusal))
	p := s.provider(t, transports[0])
	for range 2 {
		_, f := exchange(t.Context(), p, chat(true))
		if f == nil || f.Kind != provider.KindStatus || f.Status != 429 || f.RetryAfter != 3*time.Second || f.Upstream.Message != "slow" {
			t.Errorf("got %+v, want the status 429", f)
		}
	}
	if s.opened.Load() != 2 {
		t.Errorf("got %d WebSockets, want 2", s.opened.Load())
	}
	s = newTeller(t, saying(`{"type":"part"}`, refusal))
	text, f := exchange(t.Context(), s.provider(t, transports[0]), chat(true))
	if want := "event: part\ndata: {\"type\":\"part\"}\n\nevent: error\ndata: " + refusal + "\n\n"; f != nil || string(text) != want {
		t.Errorf("got %q, %v, want %q", text, f, want)
	}
}

// TestLostWebSocketsAreFailures checks that a lost WebSocket is a failure as a lost connection over HTTP, and that the
// request is not sent again.
func TestLostWebSocketsAreFailures(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		play func(c *websocket.Conn)
		kind provider.Kind
	}{
		"before an answer":    {func(*websocket.Conn) {}, provider.KindReset},
		"closed before one":   {func(c *websocket.Conn) { c.Close(websocket.Restart, "") }, provider.KindReset},
		"inside an answer":    {func(c *websocket.Conn) { _ = c.Send(websocket.Text, []byte(`{}`)) }, provider.KindTruncated},
		"inside a message":    {func(c *websocket.Conn) { _ = c.Send(websocket.Text, []byte(`{}`)); c.Break([]byte(`{"type"`)) }, provider.KindTruncated},
		"closed inside one":   {func(c *websocket.Conn) { _ = c.Send(websocket.Text, []byte(`{}`)); c.Close(websocket.Failed, "") }, provider.KindTruncated},
		"with another format": {func(c *websocket.Conn) { _ = c.Send(websocket.Binary, []byte(`{}`)) }, provider.KindProtocol},
	} {
		s := newTeller(t, func(_ int64, c *websocket.Conn) {
			if _, _, err := c.Receive(nil); err == nil {
				tc.play(c)
			}
		})
		_, f := exchange(t.Context(), s.provider(t, transports[0]), chat(true))
		if f == nil || f.Kind != tc.kind || !f.Sent() || s.opened.Load() != 1 || s.posted.Load() != 0 {
			t.Errorf("%s: got %v, want %v; %d WebSockets and %d requests over HTTP", name, f, tc.kind, s.opened.Load(), s.posted.Load())
		}
	}
}

// TestSilentWebSocketsRunIntoTimeouts checks that the timeouts of answers are those over HTTP.
func TestSilentWebSocketsRunIntoTimeouts(t *testing.T) {
	t.Parallel()
	for kind, messages := range map[provider.Kind][]string{
		provider.KindFirstByteTimeout: nil, provider.KindIdleTimeout: {`{"type":"part"}`},
	} {
		s := newTeller(t, saying(messages...))
		o := provider.Options{BaseURL: s.base, Dialect: withSockets(), Sockets: noRefusal}
		if o.Timeouts.Idle = time.Millisecond; messages == nil {
			o.Timeouts = provider.Timeouts{FirstByte: 100 * time.Millisecond}
		}
		_, f := exchange(t.Context(), newProvider(t, o), chat(true))
		if f == nil || f.Kind != kind && (messages != nil || f.Kind != provider.KindConnectTimeout) {
			t.Errorf("got %v, want %v", f, kind)
		}
	}
}

// TestRefusedWebSocketsFallBackToHTTP checks that a refused handshake gives the answer over HTTP, with any status, and that further requests make no handshake for a while.
func TestRefusedWebSocketsFallBackToHTTP(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]int{"no WebSockets": http.StatusNotFound, "a revoked key": http.StatusUnauthorized} {
		var shakes, posts atomic.Int64
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case websocket.IsUpgrade(r):
				shakes.Add(1)
				w.WriteHeader(refusal)
			case refusal == http.StatusUnauthorized:
				posts.Add(1)
				w.WriteHeader(refusal)
			default:
				posts.Add(1)
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, onHTTP)
			}
		}))
		t.Cleanup(s.Close)
		var told atomic.Int64
		p := newProvider(t, provider.Options{
			BaseURL: s.URL, Dialect: withSockets(), Sockets: func(error) { told.Add(1) },
		})
		for range 3 {
			c := chat(true)
			text, f := exchange(t.Context(), p, c)
			if refused := f != nil && f.Kind == provider.KindStatus && f.Status == refusal; c.Hold.(*permit).used != 1 ||
				refused != (refusal == http.StatusUnauthorized) || !refused && string(text) != onHTTP {
				t.Errorf("%s: got %q, %v", name, text, f)
			}
		}
		if shakes.Load() != 1 || posts.Load() != 3 || told.Load() != 1 {
			t.Errorf("%s: got %d handshakes, %d requests and %d refusals, want 1, 3 and 1", name, shakes.Load(), posts.Load(),
				told.Load())
		}
	}
}

// TestClosedIdleWebSocketsAreNotUsed checks that a request opens a WebSocket if the idle one was closed, or if something
// came that nobody asked for.
func TestClosedIdleWebSocketsAreNotUsed(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(c *websocket.Conn){
		"closed": func(c *websocket.Conn) { c.Close(websocket.GoingAway, "") },
		"lost":   func(*websocket.Conn) {},
		"speaks": func(c *websocket.Conn) {
			_ = c.Send(websocket.Text, []byte(`{"type":"end","by":"nobody"}`))
			_, _, _ = c.Receive(nil)
		},
	} {
		s := newTeller(t, func(number int64, c *websocket.Conn) {
			if number > 1 {
				saying(`{"type":"end"}`)(number, c)
				return
			}
			_, _, _ = c.Receive(nil)
			_ = c.Send(websocket.Text, []byte(`{"type":"end"}`))
			end(c)
		})
		p := s.provider(t, transports[0])
		for i := range 2 {
			text, f := exchange(t.Context(), p, chat(true))
			if want := "event: end\ndata: {\"type\":\"end\"}\n\n"; f != nil || string(text) != want {
				t.Errorf("%s: request %d: got %q, %v", name, i, text, f)
			}
			if i == 0 {
				p.AwaitEnds()
			}
		}
		if s.opened.Load() != 2 || s.posted.Load() != 0 {
			t.Errorf("%s: got %d WebSockets and %d requests over HTTP, want 2 and 0", name, s.opened.Load(), s.posted.Load())
		}
	}
}

// TestWebSocketsAreBoundedAndHaveOneRequestEach checks that requests at the same time have a WebSocket each, up to the
// bound, and are sent over HTTP beyond it; and that an answer which is given up closes its own.
func TestWebSocketsAreBoundedAndHaveOneRequestEach(t *testing.T) {
	t.Parallel()
	var closed atomic.Int64
	s := newTeller(t, func(_ int64, c *websocket.Conn) {
		_, _, _ = c.Receive(nil)
		_ = c.Send(websocket.Text, []byte(`{"type":"part"}`))
		_, _, _ = c.Receive(nil)
		closed.Add(1)
	})
	p := s.provider(t, transports[0])
	p.BoundSockets(3)
	var open []*provider.Response
	for range 5 {
		res, err := p.Do(t.Context(), chat(true))
		must.Do(t, err)
		open = append(open, res)
	}
	if s.opened.Load() != 3 || s.posted.Load() != 2 {
		t.Errorf("got %d WebSockets and %d requests over HTTP, want 3 and 2", s.opened.Load(), s.posted.Load())
	}
	for _, res := range open {
		res.Release()
	}
	res, err := p.Do(t.Context(), chat(true))
	must.Do(t, err)
	res.Release()
	for end := time.Now().Add(patience); closed.Load() < 4 && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	if closed.Load() != 4 || s.opened.Load() != 4 {
		t.Errorf("got %d WebSockets, of which %d were closed, want 4", s.opened.Load(), closed.Load())
	}
}

// TestClosedProviderKeepsNoWebSocket checks that closing a provider closes its idle WebSocket, and lets an answer in
// flight end before its WebSocket is closed.
func TestClosedProviderKeepsNoWebSocket(t *testing.T) {
	t.Parallel()
	read, ended := make(chan struct{}), make(chan int64, 2)
	s := newTeller(t, func(number int64, c *websocket.Conn) {
		_, _, _ = c.Receive(nil)
		_ = c.Send(websocket.Text, []byte(`{"type":"begin"}`))
		if number == 2 {
			<-read
		}
		_ = c.Send(websocket.Text, []byte(`{"type":"end"}`))
		_, _, _ = c.Receive(nil)
		ended <- number
	})
	p := s.provider(t, transports[0])
	first, err := p.Do(t.Context(), chat(true))
	must.Do(t, err)
	second, err := p.Do(t.Context(), chat(true))
	must.Do(t, err)
	text := must.Get(io.ReadAll(first.Body))(t)
	first.Release()
	p.Close()
	if number := <-ended; number != 1 {
		t.Errorf("the WebSocket %d was closed first, want the idle one", number)
	}
	close(read)
	if rest := must.Get(io.ReadAll(second.Body))(t); string(rest) != string(text) {
		t.Errorf("got %q of the answer in flight, want %q", rest, text)
	}
	second.Release()
	<-ended
}

// TestWebSocketsNeedFormatAndKeyForThem checks that a provider without such a wire format is a mistake, and one whose
// requests are signed.
func TestWebSocketsNeedFormatAndKeyForThem(t *testing.T) {
	t.Parallel()
	key := []llm.Secret{llm.NewSecret(testKey)}
	also := []*dialect.Dialect{withSockets()}
	for name, tc := range map[string]struct {
		change func(o *provider.Options)
		wrong  bool
	}{
		"another wire format": {func(o *provider.Options) { o.APIKeys = key }, true},
		"also this one":       {func(o *provider.Options) { o.APIKeys, o.Also = key, also }, false},
		"a signature":         {func(o *provider.Options) { o.Also, o.Auth = also, credential.AWS }, true},
		"a key of AWS":        {func(o *provider.Options) { o.APIKeys, o.Also, o.Auth = key, also, credential.AWS }, false},
	} {
		o := provider.Options{Name: "acme", Dialect: openaiLike(), BaseURL: "https://acme.example/v1", Sockets: noRefusal}
		tc.change(&o)
		p, err := provider.New(o)
		if wrong, ok := errors.AsType[*provider.Mistakes](err); ok != tc.wrong || ok && wrong.All[0].Key != "websocket" {
			t.Errorf("%s: got %v, want a mistake in websocket: %v", name, err, tc.wrong)
		}
		if err == nil {
			p.Close()
		}
	}
}
