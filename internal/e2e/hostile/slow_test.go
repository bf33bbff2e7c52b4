package hostile_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/e2e/harness"
	"weir/internal/gateway"
	"weir/internal/must"
)

// dial opens a connection to the gateway.
func dial(h *harness.Gateway) *net.TCPConn {
	h.T.Helper()
	conn := must.Get(net.Dial("tcp", strings.TrimPrefix(h.URL, "http://")))(h.T)
	h.T.Cleanup(func() { _ = conn.Close() })
	must.Do(h.T, conn.SetDeadline(time.Now().Add(harness.Patience)))
	return conn.(*net.TCPConn)
}

// TestClientThatReadsNothing sends a request and reads no reply: the gateway treats the client as disconnected.
func TestClientThatReadsNothing(t *testing.T) {
	t.Parallel()
	piece := `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"` + strings.Repeat("x", 60<<10) + `"},"finish_reason":null}]}` + "\n\n"
	canceled := make(chan string, 1) // the attempt's id
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { canceled <- r.Header.Get("X-Client-Request-Id") }()
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil { // large pieces, so that the buffers between them are soon full
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
		}
	}))
	t.Cleanup(ts.Close)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", ts.URL), Timing: gateway.Timing{Write: 300 * time.Millisecond}})
	conn := dial(h)
	must.Do(t, conn.SetReadBuffer(4<<10))
	body := `{"model":"house/m","stream":true,"messages":[{"role":"user","content":"Hi"}]}`
	fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", h.Key, len(body), body)
	select {
	case attempt := <-canceled:
		request, _, _ := strings.Cut(attempt, ".")
		if row := h.Row(request); row.Outcome != "client_gone" || row.Provenance != "estimated" || row.Out == 0 {
			t.Errorf("the row is %+v, want client_gone, estimated", row)
		}
	case <-time.After(harness.Patience):
		t.Fatal("the provider's request continues without a reader")
	}
}

// TestBodyThatNeverArrives announces a body and does not send it, at a client API that would read it and at ones that
// would not: the client gets its answer, and does not block the connection.
func TestBodyThatNeverArrives(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL), Timing: gateway.Timing{BodyRead: 200 * time.Millisecond}})
	tests := []struct {
		name, line, key string
		status          int
	}{
		{"chat", "POST /v1/chat", h.Key, 400},
		{"chat, unknown key", "POST /v1/chat", "wk_nobody", 401},
		{"completions", "POST /v1/chat/completions", h.Key, 400},
		{"uses", "GET /v1/uses", h.Key, 400},
		{"uses, unknown key", "GET /v1/uses", "wk_nobody", 401},
		{"nothing there", "POST /nothing", h.Key, 404},
		{"another method", "DELETE /v1/chat", h.Key, 405},
		{"liveness", "GET /livez", h.Key, 200},
	}
	for _, test := range tests {
		for _, framing := range []string{"Content-Length: 100\r\n\r\n{\"mess", "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"mes"} {
			t.Run(test.name+" "+framing[:3], func(t *testing.T) {
				t.Parallel()
				conn := dial(h)
				fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n%s", test.line, test.key, framing)
				in := bufio.NewReader(conn)
				resp := must.Get(http.ReadResponse(in, nil))(t)
				defer resp.Body.Close()
				body, err := io.ReadAll(resp.Body)
				if resp.StatusCode != test.status || err != nil {
					t.Errorf("status %d, want %d: %s %v", resp.StatusCode, test.status, body, err)
				}
				if _, err := in.ReadByte(); err != io.EOF {
					t.Errorf("the connection ended with %v, want it closed", err)
				}
			})
		}
	}
}

// TestSlowBody sends a large body over a slow line: the permitted time grows with the received bytes.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL), Timing: gateway.Timing{BodyRead: 200 * time.Millisecond}})
	body := `{"model":"house/chat","messages":[{"role":"user","prompt":"` + strings.Repeat("word ", 30<<10) + `"}]}`
	for _, comes := range []bool{true, false} {
		began := time.Now()
		conn := dial(h)
		fmt.Fprintf(conn, "POST /v1/chat HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", h.Key, len(body))
		must.Get(io.WriteString(conn, body[:70<<10]))(t)
		if comes {
			time.Sleep(700 * time.Millisecond)
			must.Get(io.WriteString(conn, body[70<<10:]))(t)
		}
		resp := must.Get(http.ReadResponse(bufio.NewReader(conn), nil))(t)
		answer := must.Get(io.ReadAll(resp.Body))(t)
		if want := map[bool]int{true: 200, false: 400}[comes]; resp.StatusCode != want || !comes && !strings.Contains(string(answer), "in time") {
			t.Errorf("its rest is sent: %t: %d %s, want %d", comes, resp.StatusCode, answer, want)
		}
		if took := time.Since(began); !comes && took < 2*time.Second {
			t.Errorf("it was refused after %s, want at least 2 s", took)
		}
		must.Do(t, resp.Body.Close())
	}
}

// TestHeaderThatDoesNotEnd sends more header than permitted.
func TestHeaderThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	conn := dial(h)
	fmt.Fprintf(conn, "POST /v1/chat HTTP/1.1\r\nHost: x\r\n")
	go func() {
		for line := "X-Filler: " + strings.Repeat("x", 1000) + "\r\n"; ; {
			if _, err := io.WriteString(conn, line); err != nil {
				return
			}
		}
	}()
	resp := must.Get(http.ReadResponse(bufio.NewReader(conn), nil))(t)
	if resp.Body.Close(); resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status %d, want 431", resp.StatusCode)
	}
}

// TestUnreadBodyIsNotAwaited checks that a refused client soon has the answer, although the rest of the request's body
// never arrives.
func TestUnreadBodyIsNotAwaited(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{})
	for request, status := range map[string]int{
		"POST /v1/chat HTTP/1.1\r\nHost: x\r\n": http.StatusUnauthorized,
		"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n": http.StatusBadRequest,
	} {
		conn := dial(h)
		must.Do(t, conn.SetReadDeadline(time.Now().Add(20*time.Second))) // a body has a minute
		must.Get(io.WriteString(conn, request+"Content-Length: 200\r\n\r\n{"))(t)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != status || !resp.Close {
			t.Errorf("%.20s: got %v, %v; want %d and the connection closed", request, resp, err, status)
		}
	}
}

// post sends the head of a request for chat, and a part of its body.
func post(conn net.Conn, key string, length int, body string) {
	fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", key, length, body)
}

// TestClientThatEndsItsSide half-closes the connection: the client counts as disconnected, and the rest that it still
// reads is not a whole answer.
func TestClientThatEndsItsSide(t *testing.T) {
	t.Parallel()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}`+"\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(ts.Close)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", ts.URL)})
	for name, wait := range map[string]string{"before the answer": "", "in the answer": "Hi"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial(h)
			body := `{"model":"house/m","stream":true,"messages":[{"role":"user","content":"Hi"}]}`
			post(conn, h.Key, len(body), body)
			in, came := bufio.NewReader(conn), ""
			for wait != "" && !strings.Contains(came, wait) {
				came += must.Get(in.ReadString('\n'))(t)
			}
			must.Do(t, conn.CloseWrite())
			rest, _ := io.ReadAll(in)
			if all := came + string(rest); strings.HasSuffix(all, "0\r\n\r\n") || strings.Contains(all, "500") {
				t.Errorf("got %q, want nothing that looks whole", all)
			}
		})
	}
}

// TestKeyRevokedBeforeTheBody revokes a key while the body of its request arrives.
func TestKeyRevokedBeforeTheBody(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL)})
	key := h.NewKey(account.KeyOptions{Account: account.DefaultName, Label: "late"})
	conn := dial(h)
	body := harness.Completion("house/chat", "")
	post(conn, key, len(body), body[:len(body)-1])
	h.Administer(func(ctx context.Context, s *account.Service) error {
		for _, k := range must.Get(s.Keys(ctx, account.DefaultName))(t) {
			if k.Label == "late" {
				must.Get(s.RevokeKey(ctx, audit.Gateway(), k.ID))(t)
			}
		}
		return nil
	})
	time.Sleep(1200 * time.Millisecond) // changes of another process are known within a second
	_, _ = io.WriteString(conn, body[len(body)-1:])
	resp := must.Get(http.ReadResponse(bufio.NewReader(conn), nil))(t)
	defer resp.Body.Close()
	if n := up.Ledger().Totals().Requests; resp.StatusCode != http.StatusUnauthorized || n != 0 {
		t.Errorf("got %d and %d requests at the provider, want 401 and none", resp.StatusCode, n)
	}
}
