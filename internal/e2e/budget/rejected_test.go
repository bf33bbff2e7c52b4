package budget_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/e2e/harness"
)

// TestRejectedRequestsAreBounded checks that a key leaves a bounded number of rows of requests that a provider rejects
// for nothing, for every mistake: 600 unless the configuration says otherwise; and that its account's other key is
// served as before.
func TestRejectedRequestsAreBounded(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 403, 404, 413, 422} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			up, clock := harness.NewUpstream(t), newHandClock()
			yaml, most := harness.ProvidersYAML(up.URL), 600
			if status != http.StatusBadRequest { // the default is tried once
				yaml, most = yaml+"limits: {rejected_per_key: 30}\n", 30
			}
			h := harness.Open(t, harness.Setup{YAML: yaml, Now: clock.now})
			key := h.NewKey(account.KeyOptions{Account: "default"})
			try := func(i int) harness.Reply { // each of a model of its own, so that no circuit opens
				model := fmt.Sprintf("house/chat:status=%d,seed=%d", status, i)
				return h.Do(harness.Ask{Path: "/v1/chat", Body: harness.Hello(model), Key: key})
			}
			for i := range most {
				if r := try(i); r.Status == http.StatusTooManyRequests {
					t.Fatalf("request %d was refused: %s", i, r.Body)
				}
			}
			served := len(up.Records(t))
			r := try(most)
			e := wantRefused(t, r)
			if want := fmt.Sprintf("Providers have rejected %d requests of this API key within a minute", most); !strings.HasPrefix(e.Message, want) {
				t.Errorf("message %q, want %q", e.Message, want)
			}
			if got := len(up.Records(t)); got != served {
				t.Errorf("got %d refused requests at the provider, want none", got-served)
			}
			h.MustAnswer(h.Chat("house/echo"))
			clock.advance(61 * time.Second)
			if r := try(most + 1); r.Status == http.StatusTooManyRequests {
				t.Errorf("after 61 s: refused: %s", r.Body)
			}
		})
	}
}

// TestWhichRequestsCountAsRejected checks that only requests with a free row and a mistake of their client count.
func TestWhichRequestsCountAsRejected(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, model string
		counts      bool
	}{
		{"a parameter that the provider refuses", "house/chat:status=400", true},
		{"a model that there is not", "house/chat:status=404", true},
		{"a policy", "house/chat:fault=content-policy", true},
		{"an answer", "house/chat:tokens=4", false},
		{"an error of the provider", "house/chat:status=500", false},
		{"a provider that has much to do", "house/chat:status=529", false},
		{"a limit of the provider", "house/chat:status=429", false},
		{"credentials", "house/chat:status=401", false},
		{"no such provider", "nobody/chat", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			up, clock := harness.NewUpstream(t), newHandClock()
			yaml := harness.ProvidersYAML(up.URL) + "limits: {rejected_per_key: 3, rejected_per_account: 0}\n"
			h := harness.Open(t, harness.Setup{YAML: yaml, Now: clock.now})
			for range 3 {
				h.Chat(test.model)
			}
			r := h.Chat("house/echo")
			if refused := r.Status == http.StatusTooManyRequests; refused != test.counts {
				t.Errorf("after three of %s: got %d %s, want refused %t", test.model, r.Status, r.Body, test.counts)
			}
		})
	}
}

// TestRejectedRequestsOfAnAccount checks that an account's keys together leave no more rows than an account may.
func TestRejectedRequestsOfAnAccount(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL) + "limits: {rejected_per_key: 0, rejected_per_account: 4}\n", Now: newHandClock().now})
	for range 4 {
		key := h.NewKey(account.KeyOptions{Account: "default"})
		r := h.Do(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/chat:status=400"), Key: key})
		harness.WantError(t, r, http.StatusBadRequest, "INVALID_REQUEST")
	}
	if e := wantRefused(t, h.Chat("house/echo")); !strings.Contains(e.Message, "of this account within a minute") {
		t.Errorf("message %q", e.Message)
	}
	other := h.KeyOfNew("other")
	h.MustAnswer(h.Do(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Key: other}))
}

// TestLimpingProviderStillServes checks that requests still go to a provider that refuses every second one, by its own
// limit or because it fails: it serves as many as it can.
func TestLimpingProviderStillServes(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusTooManyRequests, http.StatusInternalServerError} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			var asked, served atomic.Int64
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if asked.Add(1)%2 == 0 {
					w.Header().Set("Retry-After", "60")
					w.WriteHeader(status)
					_, _ = io.WriteString(w, `{"error":{"message":"slow down"}}`)
					return
				}
				served.Add(1)
				_, _ = io.WriteString(w, answerOfHi)
			}))
			t.Cleanup(up.Close)
			h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL) + "limits: {rejected_per_key: 20}\n", Now: newHandClock().now})
			for range 200 {
				h.Chat("house/chat")
			}
			if asked.Load() < 200 || served.Load() < 100 {
				t.Errorf("200 requests: the provider got %d and served %d, want 200 and 100 at least", asked.Load(), served.Load())
			}
		})
	}
}

// answerOfHi is a whole answer of a token.
const answerOfHi = `{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant",` +
	`"content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`

// TestOutageLeavesFewRows checks that requests to a provider that is out of service leave a bounded number of rows,
// that clients receive a retryable error and not one of their own, and that one request a second is sent, so that the
// first one after the outage succeeds.
func TestOutageLeavesFewRows(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	var back atomic.Bool
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		if !back.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"error":{"message":"down"}}`)
			return
		}
		_, _ = io.WriteString(w, answerOfHi)
	}))
	t.Cleanup(up.Close)
	clock := newHandClock()
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL) + "limits: {rejected_per_key: 20}\n", Now: clock.now})
	for range 100 {
		h.Chat("house/chat")
	}
	const ofCircuit = 5 // attempts until it opens
	if got := asked.Load(); got != ofCircuit+20 {
		t.Errorf("100 requests in an outage: the provider got %d, want %d", got, ofCircuit+20)
	}
	r := h.Chat("house/chat")
	harness.WantError(t, r, http.StatusServiceUnavailable, "PROVIDER_UNAVAILABLE")
	if r.Header.Get("Retry-After") == "" || r.Header.Get("X-Weir-Attempts") != "" {
		t.Errorf("headers %v, want Retry-After and no attempt", r.Header)
	}
	before := asked.Load()
	clock.advance(time.Second)
	for range 10 {
		h.Chat("house/chat")
	}
	if got := asked.Load() - before; got != 1 {
		t.Errorf("a second later the provider got %d requests, want one", got)
	}
	back.Store(true)
	clock.advance(time.Second)
	for range 10 {
		h.MustAnswer(h.Chat("house/chat"))
	}
}
