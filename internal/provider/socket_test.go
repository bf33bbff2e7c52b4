package provider_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/provider"
	"weir/internal/websocket"
)

func usualBounds() websocket.Bounds {
	return websocket.Bounds{Message: 1 << 20, Read: patience, Write: patience}
}

func connecting() *provider.Connecting {
	return &provider.Connecting{
		Op: llm.OpChat, Target: "/realtime?model=small", AttemptID: "attempt-1", Bounds: usualBounds(), Hold: &permit{},
		Header: []dialect.Header{{Name: "OpenAI-Beta", Value: "realtime=v1"}}, Protocols: []string{"realtime"},
	}
}

// socketServer echoes one message, and returns the requests for WebSockets.
func socketServer(t *testing.T) (base string, asked chan *http.Request) {
	asked = make(chan *http.Request, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r
		c, err := websocket.Accept(w, r, usualBounds(), "realtime")
		if err != nil {
			return
		}
		defer c.Abort()
		if kind, text, err := c.Receive(nil); err == nil {
			_ = c.Send(kind, text)
			_, _, _ = c.Receive(nil)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1", asked
}

// echoesOnce connects and checks that a message comes back.
func echoesOnce(t *testing.T, p *provider.Provider, c *provider.Connecting) {
	t.Helper()
	s, err := p.Connect(t.Context(), c)
	must.Do(t, err)
	defer s.Close(websocket.Normal, "")
	must.Do(t, s.Send(websocket.Text, []byte("hello")))
	if _, got, err := s.Receive(nil); string(got) != "hello" || err != nil || s.Protocol() != "realtime" {
		t.Errorf("got %q, %v with the subprotocol %q", got, err, s.Protocol())
	}
}

// TestWebSocketHasHeadersOfRequests checks that a WebSocket is opened with the credential and the headers of a request,
// and uses its hold.
func TestWebSocketHasHeadersOfRequests(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		base, asked := socketServer(t)
		hold := &permit{}
		c := connecting()
		c.Hold = hold
		echoesOnce(t, way.provider(t, provider.Options{BaseURL: base}), c)
		r := <-asked
		if r.RequestURI != "/v1/realtime?model=small" || hold.used != 1 || r.Header.Get("Content-Type") != "" {
			t.Errorf("got %s, the hold used %d times, the headers %q", r.RequestURI, hold.used, r.Header)
		}
		for name, want := range map[string]string{
			"Authorization": "Bearer " + testKey, "OpenAI-Beta": "realtime=v1", "X-Client-Request-Id": "attempt-1", "User-Agent": "weir",
		} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
	})
}

// TestWebSocketOverProxyHasTunnel checks that a proxy makes a tunnel for a WebSocket, also to plain HTTP.
func TestWebSocketOverProxyHasTunnel(t *testing.T) {
	t.Parallel()
	base, asked := socketServer(t)
	var targets []string
	var forwarding sync.WaitGroup
	through := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		targets = append(targets, r.Method+" "+r.Host)
		server, err := net.Dial("tcp", r.Host)
		if err != nil || r.Method != http.MethodConnect {
			return
		}
		client, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
		for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
			forwarding.Go(func() {
				_, _ = io.Copy(way[0], way[1])
				_ = way[0].Close()
			})
		}
	}))
	t.Cleanup(func() {
		through.Close()
		forwarding.Wait()
	})
	echoesOnce(t, newProvider(t, provider.Options{BaseURL: base, Proxy: through.URL}), connecting())
	<-asked
	host := strings.TrimSuffix(strings.TrimPrefix(base, "http://"), "/v1")
	if len(targets) != 1 || targets[0] != "CONNECT "+host {
		t.Errorf("the proxy got %q, want CONNECT %s", targets, host)
	}
}

// TestRefusedWebSocketsAreFailures checks that each cause gives its kind of failure, and that nothing is sent without a
// hold.
func TestRefusedWebSocketsAreFailures(t *testing.T) {
	t.Parallel()
	refusing := httptest.NewServer(answer(http.StatusTooManyRequests, `{"error":{"message":"slow down","type":"rate_limit"}}`))
	t.Cleanup(refusing.Close)
	ignoring := httptest.NewServer(answer(http.StatusOK, `{}`))
	t.Cleanup(ignoring.Close)
	used := &permit{err: errors.New("used before")}
	without := connecting()
	without.Hold = nil
	spent := connecting()
	spent.Hold = used
	elsewhere := connecting()
	elsewhere.Target = ".evil.example/"
	for name, tc := range map[string]struct {
		base   string
		c      *provider.Connecting
		kind   provider.Kind
		status int
	}{
		"a refusal":    {refusing.URL, connecting(), provider.KindStatus, http.StatusTooManyRequests},
		"no WebSocket": {ignoring.URL, connecting(), provider.KindProtocol, 0},
		"no server":    {"http://127.0.0.1:1", connecting(), provider.KindRefused, 0},
		"no hold":      {refusing.URL, without, provider.KindRefused, 0},
		"a used hold":  {refusing.URL, spent, provider.KindRefused, 0},
		"another host": {refusing.URL, elsewhere, provider.KindRefused, 0},
	} {
		s, err := newProvider(t, provider.Options{BaseURL: tc.base}).Connect(t.Context(), tc.c)
		f := failureOf(err)
		if s != nil || f == nil {
			t.Errorf("%s: got %v, %v, want a failure", name, s, err)
			continue
		}
		if wantOurs := name == "no hold" || name == "a used hold" || name == "another host"; f.Ours() != wantOurs || !wantOurs && (f.Kind != tc.kind || f.Status != tc.status) {
			t.Errorf("%s: got %v with the status %d, want %v with %d", name, f, f.Status, tc.kind, tc.status)
		}
		if strings.Contains(err.Error(), testKey) {
			t.Errorf("%s: the error has the credential: %v", name, err)
		}
	}
}
