package budget_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/e2e/harness"
	"weir/internal/must"
	"weir/internal/ratelimit"
	"weir/internal/ratelimit/redistest"
)

// handClock is a clock that is advanced by hand.
type handClock struct{ nanos atomic.Int64 }

func newHandClock() *handClock {
	c := &handClock{}
	c.nanos.Store(time.Now().Truncate(time.Second).UnixNano())
	return c
}

func (c *handClock) now() time.Time { return time.Unix(0, c.nanos.Load()) }

func (c *handClock) advance(d time.Duration) { c.nanos.Add(int64(d)) }

// limitHeaders returns a reply's rate-limit headers, by their names without the prefix.
func limitHeaders(h http.Header, prefix string) map[string]string {
	got := map[string]string{}
	for name, values := range h {
		if rest, ok := strings.CutPrefix(strings.ToLower(name), prefix); ok {
			got[rest] = strings.Join(values, ",")
		}
	}
	return got
}

// TestRequestLimit checks that a key with three requests a minute gets three, at once, and the next one at the
// announced time and not before.
func TestRequestLimit(t *testing.T) {
	t.Parallel()
	up, clock := harness.NewUpstream(t), newHandClock()
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL), Now: clock.now})
	key := h.NewKey(account.KeyOptions{Account: "default", Limits: account.Limits{RPM: 3}})
	try := func() harness.Reply {
		return h.Do(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Key: key})
	}
	for left := 2; left >= 0; left-- {
		r := try()
		h.MustAnswer(r)
		want := map[string]string{
			"limit-requests": "3", "remaining-requests": strconv.Itoa(left), "reset-requests": "61",
		}
		must.Equal(t, limitHeaders(r.Header, "x-ratelimit-"), want, "headers")
	}
	served := len(up.Records(t))
	for _, wait := range []time.Duration{0, 30 * time.Second, 29 * time.Second, 1500 * time.Millisecond} {
		clock.advance(wait)
		r := try()
		e := harness.ReadError(t, r.Body)
		if r.Status != http.StatusTooManyRequests || e.Code != "RATE_LIMITED" || !strings.HasPrefix(e.Message, "This API key is limited to 3 requests a minute. ") {
			t.Fatalf("after %v: got %d %s, want 429 RATE_LIMITED", wait, r.Status, r.Body)
		}
		if got := limitHeaders(r.Header, "x-ratelimit-")["remaining-requests"]; got != "0" {
			t.Errorf("refused: %s remain, want 0", got)
		}
	}
	retry, err := strconv.Atoi(try().Header.Get("Retry-After"))
	if err != nil || retry != 1 { // half a second, rounded up
		t.Errorf("Retry-After %d, want 1", retry)
	}
	if got := len(up.Records(t)); got != served {
		t.Errorf("got %d refused requests at the provider, want none", got-served)
	}
	clock.advance(time.Duration(retry) * time.Second)
	for range 3 {
		h.MustAnswer(try())
	}
	if got := h.Do(harness.Ask{Path: "/v1/uses", Key: key}); strings.Contains(got.Body, "RATE") || got.Status != http.StatusOK {
		t.Errorf("uses are limited: %d %s", got.Status, got.Body)
	} else if left := limitHeaders(got.Header, "x-ratelimit-")["remaining-requests"]; left != "0" {
		t.Errorf("uses say that %s requests remain, want 0", left)
	}
}

// TestTokenLimit checks that a reservation is settled to the usage, in the headers of a whole reply, of a stream and of
// an error.
func TestTokenLimit(t *testing.T) {
	t.Parallel()
	up, clock := harness.NewUpstream(t), newHandClock()
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL) + "limits:\n  per_account: {tpm: 10000}\n", Now: clock.now})
	left := func(r harness.Reply) string { return limitHeaders(r.Header, "x-ratelimit-")["remaining-tokens"] }
	r := h.Chat("house/echo") // 12 tokens in, 4 out
	h.MustAnswer(r)
	if got := left(r); got != "9984" {
		t.Errorf("after one: %s tokens remain, want 9984", got)
	}
	if r := h.Stream("house/echo"); r.Status != http.StatusOK || left(r) >= "9984" {
		t.Errorf("a stream: %d, %s remain; want less than 9984 while it runs", r.Status, left(r))
	}
	if r := h.Chat("nobody/x"); left(r) != "9968" {
		t.Errorf("an error: %s tokens remain, want 9968", left(r))
	}
	if r := h.Chat("house/chat:tokens=11000"); r.Status != http.StatusOK || left(r) != "0" {
		t.Errorf("a long answer: %d, %s remain; want 200 and 0", r.Status, left(r))
	}
	e := wantRefused(t, h.Chat("house/echo"))
	if !strings.HasPrefix(e.Message, "This account is limited to 10000 tokens a minute") {
		t.Errorf("message %q", e.Message)
	}
	clock.advance(61 * time.Second)
	h.MustAnswer(h.Chat("house/echo"))
}

func wantRefused(t *testing.T, r harness.Reply) harness.NativeError {
	t.Helper()
	e := harness.ReadError(t, r.Body)
	if r.Status != http.StatusTooManyRequests || e.Code != "RATE_LIMITED" || r.Header.Get("Retry-After") == "" {
		t.Errorf("got %d %s, want 429 RATE_LIMITED with Retry-After", r.Status, r.Body)
	}
	return e
}

// TestConcurrencyLimit checks the number of concurrent requests, for any outcome of them.
func TestConcurrencyLimit(t *testing.T) {
	t.Parallel()
	h, up := harness.OpenSimulated(t)
	h.SetOnDisconnect(account.DisconnectCancel)
	key := h.NewKey(account.KeyOptions{Account: "default", Limits: account.Limits{Concurrency: 2}})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() {
			r := h.Request(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/chat:fault=silence"), Key: key})
			if resp, err := h.Client.Do(r.WithContext(ctx)); err == nil {
				_ = resp.Body.Close()
			}
		})
	}
	again := harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Key: key}
	harness.Await(t, "two requests that run", func() bool {
		n := 0
		for range up.Ledger().Records(0) {
			n++
		}
		return n == 2
	})
	refused := h.Do(again)
	e := wantRefused(t, refused)
	if want := "This API key is limited to 2 requests at a time. Try again in 1 second."; e.Message != want || refused.Header.Get("Retry-After") != "1" {
		t.Errorf("got %q, Retry-After %s; want %q and 1", e.Message, refused.Header.Get("Retry-After"), want)
	}
	h.MustAnswer(h.Chat("house/echo")) // another key
	leave()
	running.Wait()
	harness.Await(t, "the end of both", func() bool { return h.Do(again).Status == http.StatusOK })
	for range 20 { // one after the other is one at a time
		h.MustAnswer(h.Do(again))
	}
}

// TestLimitAtEveryClientAPI checks that a refusal has the vendor's form and headers, and costs nothing.
func TestLimitAtEveryClientAPI(t *testing.T) {
	t.Parallel()
	up, clock := harness.NewUpstream(t), newHandClock()
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL), Now: clock.now})
	for _, clientAPI := range harness.VendorAPIs() {
		for _, stream := range []bool{false, true} {
			key := h.NewKey(account.KeyOptions{Account: "default", Limits: account.Limits{RPM: 1, TPM: 50_000}})
			a := clientAPI.Ask("house/echo", stream)
			a.Key = key
			if r := h.Do(a); r.Status != http.StatusOK {
				t.Fatalf("%s: %d %s", clientAPI.Path, r.Status, r.Body)
			}
			served := len(up.Records(t))
			r := h.Do(a)
			if r.Status != http.StatusTooManyRequests || r.Header.Get("Retry-After") != "59" || !strings.Contains(r.Body, "limited to 1 request a minute") {
				t.Errorf("%s: got %d, Retry-After %q, %s", clientAPI.Path, r.Status, r.Header.Get("Retry-After"), r.Body)
			}
			if got := len(up.Records(t)); got != served || r.Header.Get("X-Weir-Attempts") != "" {
				t.Errorf("%s: a refused request was attempted", clientAPI.Path)
			}
			if got := limitHeaders(r.Header, "x-ratelimit-"); got["remaining-requests"] != "0" || got["limit-tokens"] != "50000" || got["reset-requests"] != "1m1s" {
				t.Errorf("%s: headers %v", clientAPI.Path, got)
			}
			if clientAPI.Dialect == "anthropic" {
				wantAnthropicLimits(t, r.Header, clock.now())
			}
		}
	}
}

func wantAnthropicLimits(t *testing.T, h http.Header, now time.Time) {
	t.Helper()
	got := limitHeaders(h, "anthropic-ratelimit-")
	reset := now.Add(61 * time.Second).UTC().Format(time.RFC3339)
	left := got["tokens-remaining"]
	if n, err := strconv.Atoi(left); err != nil || n <= 49_000 || n >= 50_000 {
		t.Errorf("tokens remaining %q, want a little less than 50000", left)
	}
	want := map[string]string{"requests-limit": "1", "requests-remaining": "0", "requests-reset": reset}
	for _, of := range []string{"tokens", "input-tokens", "output-tokens"} {
		want[of+"-limit"], want[of+"-remaining"], want[of+"-reset"] = "50000", left, reset
	}
	must.Equal(t, got, want, "Anthropic's headers")
}

// TestLimitsChange checks that limits count within a second after a change, by a command or by a reload.
func TestLimitsChange(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL)})
	limit := func() string { return limitHeaders(h.Chat("house/echo").Header, "x-ratelimit-")["limit-requests"] }
	if got := limit(); got != "" {
		t.Errorf("at first: limit %s, want none", got)
	}
	h.Configure(harness.ProvidersYAML(up.URL) + "limits: {rpm: 900, per_key: {rpm: 800}}\n")
	h.Reloads <- struct{}{}
	harness.Await(t, "the reloaded limit", func() bool { return limit() == "800" })
	h.Administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.SetLimits(ctx, audit.Gateway(), "default", account.Limits{RPM: 700})
		return err
	})
	harness.Await(t, "the account's limit", func() bool { return limit() == "700" })
}

// TestLimitsOnValkey shares one limit between two gateways, and checks their reports when the server is gone.
func TestLimitsOnValkey(t *testing.T) {
	t.Parallel()
	server, up := redistest.Start(t), harness.NewUpstream(t)
	yaml := harness.ProvidersYAML(up.URL) + "limits: {rpm: 5}\nvalkey: " + server.URL().Reveal() + "\n"
	patient := func(o *ratelimit.Options) { o.Timeout = harness.Patience } // how fast a busy machine is, is not the question
	one, two := harness.Open(t, harness.Setup{YAML: yaml, Limits: patient}), harness.Open(t, harness.Setup{YAML: yaml, Limits: patient})
	served := 0
	for range 5 {
		for _, h := range []*harness.Gateway{one, two} {
			if h.Chat("house/echo").Status == http.StatusOK {
				served++
			}
		}
	}
	if served != 5 {
		t.Errorf("%d served by two gateways, want 5", served)
	}
	ready := func(mark string) func() bool {
		return func() bool {
			r := one.Do(harness.Ask{Path: "/readyz?verbose", Key: harness.NoKey})
			return r.Status == http.StatusOK && strings.Contains(r.Body, "["+mark+"] valkey")
		}
	}
	harness.Await(t, "readiness with Valkey", ready("+"))
	server.Kill()
	harness.Await(t, "the outage in /readyz", ready("-"))
	if r := two.Chat("house/echo"); r.Status != http.StatusOK && r.Status != http.StatusTooManyRequests {
		t.Errorf("without Valkey: %d %s", r.Status, r.Body)
	}
	server.Run()
	harness.Await(t, "the end of the outage", ready("+"))
}
