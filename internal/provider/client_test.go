package provider_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/credential"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/provider"
)

func TestRequestHasHeadersOfScheme(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		for _, tc := range []struct {
			auth   credential.Scheme
			stream bool
			want   map[string]string
		}{
			{credential.Bearer, false, map[string]string{"Authorization": "Bearer " + testKey, "Accept": "application/json"}},
			{"", true, map[string]string{"Authorization": "Bearer " + testKey, "Accept": "text/event-stream"}},
			{credential.APIKey, false, map[string]string{"Api-Key": testKey, "Authorization": ""}},
			{credential.XAPIKey, false, map[string]string{"X-Api-Key": testKey, "Authorization": ""}},
			{credential.XGoogAPIKey, false, map[string]string{"X-Goog-Api-Key": testKey, "Authorization": ""}},
			{credential.None, false, map[string]string{"Authorization": ""}},
		} {
			var got *http.Request
			var body []byte
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got = r
				body, _ = io.ReadAll(r.Body)
				w.Header().Set("Content-Type", r.Header.Get("Accept"))
				_, _ = io.WriteString(w, "{}")
			}))
			t.Cleanup(server.Close)
			p := way.provider(t, provider.Options{BaseURL: server.URL + "/v1/", Auth: tc.auth, UserAgent: "weir/1.2.3"})
			if _, f := exchange(t.Context(), p, chat(tc.stream)); f != nil {
				t.Fatalf("%q: %v", tc.auth, f)
			}
			if line := got.Method + " " + got.URL.String(); line != "POST /v1/chat/completions" || string(body) != `{"model":"small"}` {
				t.Errorf("%q: got %s with %s", tc.auth, line, body)
			}
			tc.want["Content-Type"] = "application/json"
			tc.want["Accept-Encoding"] = "identity"
			tc.want["User-Agent"] = "weir/1.2.3"
			tc.want["X-Client-Request-Id"] = "attempt-1"
			for name, want := range tc.want {
				if got := got.Header.Get(name); got != want {
					t.Errorf("%q: got %s %q, want %q", tc.auth, name, got, want)
				}
			}
		}
	})
}

func TestRequestLeavesInOneWrite(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		must.Do(t, err)
		defer func() { _ = ln.Close() }()
		first := make(chan string, 1)
		go func() {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			defer func() { _ = c.Close() }()
			buf := make([]byte, 64<<10)
			n, _ := c.Read(buf)
			first <- string(buf[:n])
			_, _ = io.WriteString(c, jsonReply("{}"))
		}()
		p := way.provider(t, provider.Options{BaseURL: "http://" + ln.Addr().String()})
		if _, f := exchange(t.Context(), p, chat(false)); f != nil {
			t.Fatal(f)
		}
		if got := <-first; !strings.HasSuffix(got, "\r\n\r\n"+`{"model":"small"}`) {
			t.Errorf("got the first write %q, want headers and body", got)
		}
	})
}

// TestConnectionsAreReusedAfterReplies checks that a reply read to its end, or a refusal read whole, leaves its
// connection to the next request.
func TestConnectionsAreReusedAfterReplies(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		var conns atomic.Int32
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", r.Header.Get("Accept"))
			if r.Header.Get("X-Client-Request-Id") == "refused" {
				w.WriteHeader(http.StatusBadRequest)
			}
			_, _ = io.WriteString(w, "{}")
		}))
		server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				conns.Add(1)
			}
		}
		server.Start()
		t.Cleanup(server.Close)
		p := way.provider(t, provider.Options{BaseURL: server.URL})
		for range 4 {
			for _, stream := range []bool{false, true} {
				if _, f := exchange(t.Context(), p, chat(stream)); f != nil {
					t.Fatal(f)
				}
			}
			refused := chat(false)
			refused.AttemptID = "refused"
			if _, f := exchange(t.Context(), p, refused); f == nil {
				t.Fatal("got an answer, want 400")
			}
		}
		if got := conns.Load(); got != 1 {
			t.Errorf("got %d connections, want 1", got)
		}
	})
}

func TestNothingGoesOutWithoutAHold(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		var hits atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
		t.Cleanup(server.Close)
		p := way.provider(t, provider.Options{BaseURL: server.URL})
		spent := &llm.Error{Code: llm.CodeBudgetExceeded, Message: "No room."}
		for name, tc := range map[string]struct {
			change func(*provider.Call)
			code   llm.Code
		}{
			"no hold":      {func(c *provider.Call) { c.Hold = nil }, llm.CodeInternal},
			"used up":      {func(c *provider.Call) { c.Hold = &permit{err: errors.New("used")} }, llm.CodeInternal},
			"no budget":    {func(c *provider.Call) { c.Hold = &permit{err: spent} }, llm.CodeBudgetExceeded},
			"no such key":  {func(c *provider.Call) { c.Key = 1 }, llm.CodeInternal},
			"negative key": {func(c *provider.Call) { c.Key = -1 }, llm.CodeInternal},
			"no such op":   {func(c *provider.Call) { c.Op = "embed" }, llm.CodeInternal},
		} {
			c := chat(false)
			tc.change(&c)
			_, f := exchange(t.Context(), p, c)
			if f == nil || f.Err.Code != tc.code || f.Sent() || !f.Ours() {
				t.Errorf("%s: got %v, want %s, not sent, not to be retried", name, f, tc.code)
			}
		}
		if got := hits.Load(); got != 0 {
			t.Errorf("got %d requests, want 0", got)
		}
		c := chat(false)
		_, _ = exchange(t.Context(), p, c)
		if got := c.Hold.(*permit).used; got != 1 || hits.Load() != 1 {
			t.Errorf("got %d uses and %d requests, want one each", got, hits.Load())
		}
	})
}

func TestNoConnection(t *testing.T) {
	t.Parallel()
	const closed = "http://127.0.0.1:1"             // a port of the system's: a recently free one could be taken soon
	silent, err := net.Listen("tcp", "127.0.0.1:0") // completes TCP's handshake and never TLS's
	must.Do(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	stranger := httptest.NewUnstartedServer(http.NotFoundHandler())
	stranger.Config.ErrorLog = log.New(io.Discard, "", 0)
	stranger.StartTLS()
	t.Cleanup(stranger.Close)
	for _, tc := range []struct {
		name, base string
		kind       provider.Kind
		code       llm.Code
	}{
		{"closed port", closed, provider.KindRefused, llm.CodeProviderError},
		{"no such host", "http://nowhere.invalid/v1", provider.KindRefused, llm.CodeProviderError},
		{"wrong certificate", stranger.URL, provider.KindRefused, llm.CodeProviderError},
		{"no TLS", rawServerTLS(rawServer(t, say(""))), provider.KindRefused, llm.CodeProviderError},
		{"silence in the handshake", "https://" + silent.Addr().String(), provider.KindConnectTimeout, llm.CodeProviderTimeout},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t, provider.Options{BaseURL: tc.base, Timeouts: provider.Timeouts{Connect: 300 * time.Millisecond}})
			_, f := exchange(t.Context(), p, chat(false))
			if f == nil || f.Sent() || f.Ours() {
				t.Fatalf("got %v, want a failure before anything was sent, to be retried", f)
			}
			if tc.name == "no such host" && f.Kind == provider.KindConnectTimeout {
				return // a name server that does not answer is a timer of ours
			}
			if f.Kind != tc.kind || f.Err.Code != tc.code {
				t.Errorf("got %v, %s; want %v, %s", f, f.Err.Code, tc.kind, tc.code)
			}
		})
	}
}

func rawServerTLS(base string) string { return "https" + strings.TrimPrefix(base, "http") }

func TestFirstByteTimerBeforeAConnection(t *testing.T) {
	t.Parallel()
	silent := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = silent.Close() })
	p := newProvider(t, provider.Options{
		BaseURL:  "https://" + silent.Addr().String(),
		Timeouts: provider.Timeouts{Connect: patience, FirstByte: 50 * time.Millisecond},
	})
	_, f := exchange(t.Context(), p, chat(false))
	if f == nil || f.Kind != provider.KindConnectTimeout || f.Sent() {
		t.Errorf("got %v, want %v with nothing sent", f, provider.KindConnectTimeout)
	}
}

func TestRedirectIsNeverFollowed(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		var hits atomic.Int32
		target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
		t.Cleanup(target.Close)
		for _, status := range []int{301, 302, 303, 307, 308} {
			server := httptest.NewServer(http.RedirectHandler(target.URL, status))
			t.Cleanup(server.Close)
			p := way.provider(t, provider.Options{BaseURL: server.URL})
			_, f := exchange(t.Context(), p, chat(false))
			if f == nil || f.Kind != provider.KindProtocol || f.Status != status {
				t.Errorf("%d: got %v, want %v", status, f, provider.KindProtocol)
			}
		}
		if got := hits.Load(); got != 0 {
			t.Errorf("got %d requests at the other address, want 0", got)
		}
	})
}

func TestNameThatResolvesToAPrivateAddress(t *testing.T) {
	t.Parallel()
	base := rawServer(t, say(jsonReply("{}")))
	named := strings.Replace(base, "127.0.0.1", "LOCALHOST", 1) // a name like any other to New
	o := provider.Options{Name: "acme", Dialect: openaiLike(), BaseURL: named}
	p := must.Get(provider.New(o))(t)
	t.Cleanup(p.Close)
	_, f := exchange(t.Context(), p, chat(false))
	if f == nil || f.Kind != provider.KindRefused || f.Sent() || !strings.Contains(f.Error(), "allow_private") {
		t.Errorf("got %v, want %v naming allow_private", f, provider.KindRefused)
	}
}

func TestSecretsStayOut(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"error":{"message":"you sent %s"}}`, r.Header.Get("Authorization"))
		}))
		t.Cleanup(server.Close)
		p := way.provider(t, provider.Options{BaseURL: server.URL})
		_, f := exchange(t.Context(), p, chat(false))
		want := "you sent Bearer [redacted]"
		if f == nil || f.Err.Message != want || f.Upstream.Message != want {
			t.Errorf("got %v, want the message %q", f, want)
		}
		for _, text := range []string{f.Error(), fmt.Sprintf("%+v %#v", f, f.Err), fmt.Sprintf("%+v %#v", p, p)} {
			if strings.Contains(text, testKey) {
				t.Errorf("the key is in %q", text)
			}
		}
	})
}

// roundTripper is a provider in this process.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestLocalTransportIsUsed(t *testing.T) {
	t.Parallel()
	p := newProvider(t, provider.Options{BaseURL: "http://acme.example/v1", Local: roundTripper(
		func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(r.URL.String())), ContentLength: -1}, nil
		})})
	text, f := exchange(t.Context(), p, chat(false))
	if want := "http://acme.example/v1/chat/completions"; f != nil || string(text) != want {
		t.Errorf("got %q, %v, want %q", text, f, want)
	}
}

func TestProxyIsUsed(t *testing.T) {
	t.Parallel()
	var asked atomic.Value
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.URL.String())
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(proxy.Close)
	p, err := provider.New(provider.Options{
		Name: "acme", Dialect: openaiLike(), BaseURL: "http://acme.example/v1", Proxy: proxy.URL,
	})
	must.Do(t, err)
	t.Cleanup(p.Close)
	_, f := exchange(t.Context(), p, chat(false))
	if want := "http://acme.example/v1/chat/completions"; f != nil || asked.Load() != want {
		t.Errorf("got %v with the proxy's request for %v, want %s", f, asked.Load(), want)
	}
}
