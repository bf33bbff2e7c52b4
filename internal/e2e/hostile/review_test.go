package hostile_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/e2e/harness"
	"weir/internal/gateway"
	"weir/internal/must"
	"weir/internal/report"
)

// says starts a provider that answers every request with these bytes.
func says(t testing.TB, contentType, body string) (url string) {
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(ts.Close)
	return ts.URL
}

// TestLongNames checks that neither a client's model name nor a provider's service tier can hide other requests'
// records from the ledger.
func TestLongNames(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(says(t, "application/json", harness.Answered(harness.Thousand+`,"service_tier":"`+strings.Repeat("x", 70_000)+`"`)))})
	for _, model := range []string{"house/" + strings.Repeat("A", 40_000), `house/x\r\nSet-Cookie: a=b`} {
		for _, clientAPI := range harness.ClientAPIs()[:1] {
			harness.WantError(t, h.Do(harness.Ask{Path: clientAPI.Path, Body: harness.Hello(model)}), http.StatusBadRequest, "INVALID_REQUEST")
		}
		if r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: harness.Completion(model, "")}); r.Status != http.StatusBadRequest {
			t.Errorf("vendor API, %d bytes of name: got status %d, want 400", len(model), r.Status)
		}
	}
	const good = 5
	for range good {
		h.MustAnswer(h.Chat("house/m"))
	}
	if got := h.Uses("").Total; got.Requests != "5" || got.Tokens != "7500" {
		t.Errorf("got %s requests and %s tokens, want 5 and 7500", got.Requests, got.Tokens)
	}
}

// TestTextWithUsageIsNotLost checks that a stream with usage on every piece loses no text.
func TestTextWithUsageIsNotLost(t *testing.T) {
	t.Parallel()
	usage := `"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}`
	frames := []string{
		`{"choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"},"finish_reason":null}],` + usage + `}`,
		`{"choices":[{"index":0,"delta":{"content":"lo!"},"finish_reason":"stop"}],` + usage + `}`,
		`{"choices":[],` + usage + `}`, `[DONE]`,
	}
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(says(t, "text/event-stream", "data: "+strings.Join(frames, "\n\ndata: ")+"\n\n"))})
	for _, members := range []string{`,"stream":true`, harness.AsksUsage} {
		got := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: harness.Completion("house/m", members)}).Body
		for _, want := range []string{frames[0], frames[1], "data: [DONE]\n\n"} {
			if strings.Count(got, want) != 1 {
				t.Errorf("with %s: got\n%s\nwant once %s", members, got, want)
			}
		}
	}
}

// TestReportedUsageCountsAfterFailures checks that the provider's own numbers count, for any failure of its answer,
// unless they are impossible.
func TestReportedUsageCountsAfterFailures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, contentType, body, path string
		tokens                        int64 // at least and at most
		most                          int64
	}{
		{"no finish reason", "application/json", strings.Replace(harness.Answered(harness.Thousand), `"stop"`, "null", 1), "/v1/chat", 1500, 1500},
		{"an error beside it", "application/json", harness.Answered(harness.Thousand + `,"error":{"message":"boom sk-secret","code":500}`), "/v1/chat", 1500, 1500},
		{"cut before any word", "text/event-stream", "data: {\"choices\":[]" + harness.Thousand + "}\n\n", "/v1/chat/completions", 1500, 1500},
		{"beyond belief", "application/json", harness.Answered(`,"usage":{"prompt_tokens":9,"completion_tokens":1099511627776,"total_tokens":1099511627785}`), "/v1/chat", 1, 100},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(says(t, test.contentType, test.body))})
			body := harness.Hello("house/m")
			if test.path != "/v1/chat" {
				body = harness.Completion("house/m", `,"stream":true`)
			}
			r := h.Do(harness.Ask{Path: test.path, Body: body})
			if strings.Contains(r.Body, "sk-secret") {
				t.Errorf("the provider's own words reach the client: %s", r.Body)
			}
			got := h.Row(r.Header.Get("X-Request-Id"))
			if n := got.In + got.Out; n < test.tokens || n > test.most {
				t.Errorf("got %d tokens (%+v), want %d to %d", n, got, test.tokens, test.most)
			}
		})
	}
}

// TestIdleBodiesHoldNothing checks that clients that announce bodies, and do not send them, block no others.
func TestIdleBodiesHoldNothing(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	for i := range 40 {
		conn := must.Get(net.Dial("tcp", strings.TrimPrefix(h.URL, "http://")))(t)
		defer conn.Close()
		length := []string{"Transfer-Encoding: chunked", "Content-Length: 30000000"}[i%2]
		say(conn, "POST /v1/chat HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s\r\n\r\n", h.Key, length)
	}
	time.Sleep(100 * time.Millisecond) // until the gateway waits for them
	h.MustAnswer(h.Chat("house/chat"))
}

// TestClientsThatDoNotRead checks that a client that reads no reply loses its connection.
func TestClientsThatDoNotRead(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL), Timing: gateway.Timing{Write: 300 * time.Millisecond}})
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
	must.Do(t, err)
	defer conn.Close()
	body := harness.Hello("house/chat:tokens=50000") // long replies soon fill the kernel's buffers
	request := fmt.Sprintf("POST /v1/chat HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", h.Key, len(body), body)
	must.Do(t, conn.SetWriteDeadline(time.Now().Add(harness.Patience)))
	for range 200_000 { // until the gateway, which can write no more, reads no more
		if _, err := io.WriteString(conn, request); err != nil {
			if ne, ok := err.(net.Error); ok && ne.Timeout() { //nolint:errorlint // the error of this very call
				t.Errorf("the connection is still open after %s", harness.Patience)
			}
			return
		}
	}
	t.Error("200,000 unread replies were written")
}

// TestOddPaths checks that a path is either served literally or not at all.
func TestOddPaths(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	h.Client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, path := range []string{"//v1/chat", "/v1/./chat", "/v1/../v1/chat", "/v1/chat/"} {
		harness.WantError(t, h.Do(harness.Ask{Path: path, Body: harness.Hello("house/chat")}), http.StatusNotFound, "NOT_FOUND")
	}
}

// TestBoundOfCost checks that the charge of an attempt with an unseen end is bounded by the model, not by its client's
// request.
func TestBoundOfCost(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(says(t, "application/json", harness.Answered(harness.Thousand))) + "models:\n  house/m: {context: 1000, max_output: 100}\n"})
	h.MustAnswer(h.Do(harness.Ask{Path: "/v1/chat", Body: `{"model":"house/m","max_tokens":1099511627776,"messages":[{"role":"user","prompt":"Hi"}]}`}))
	n := 0
	h.EachEntry(func(e *report.Exported) {
		n++
		if got := e.Bound.OutputTokens(); got != 100 {
			t.Errorf("got a bound of %d output tokens, want the model's 100", got)
		}
	})
	if n != 1 {
		t.Errorf("export: %d attempts, want one", n)
	}
}
