package app_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"google.golang.org/genai"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/ratelimit"
	"weir/internal/ratelimit/redistest"
)

// handClock is a clock that stands still until it is moved.
type handClock struct{ nanos atomic.Int64 }

func newHandClock() *handClock {
	c := &handClock{}
	c.nanos.Store(time.Now().Truncate(time.Second).UnixNano())
	return c
}

func (c *handClock) now() time.Time          { return time.Unix(0, c.nanos.Load()) }
func (c *handClock) advance(d time.Duration) { c.nanos.Add(int64(d)) }

// limitHeaders are what a reply says of limits, by what stands behind the
// names' first part.
func limitHeaders(h http.Header, prefix string) map[string]string {
	got := map[string]string{}
	for name, values := range h {
		if rest, ok := strings.CutPrefix(strings.ToLower(name), prefix); ok {
			got[rest] = strings.Join(values, ",")
		}
	}
	return got
}

// TestRequestLimit is that a key with three requests a minute gets three, at
// once, and then one when it is told so and not before.
func TestRequestLimit(t *testing.T) {
	t.Parallel()
	up, clock := newUpstream(t), newHandClock()
	h := open(t, setup{yaml: providersYAML(up.url), now: clock.now})
	key := h.newKey(account.KeyOptions{Account: "default", Limits: account.Limits{RPM: 3}})
	try := func() reply { return h.do(ask{path: "/v1/chat", body: hello("house/echo"), key: key}) }
	for left := 2; left >= 0; left-- {
		r := try()
		h.mustAnswer(r)
		want := map[string]string{
			"limit-requests": "3", "remaining-requests": strconv.Itoa(left), "reset-requests": "61",
			"limit-tokens": "0", "remaining-tokens": "0", "reset-tokens": "0",
		}
		if diff := cmp.Diff(limitHeaders(r.header, "x-ratelimit-"), want); diff != "" {
			t.Errorf("headers (-got +want):\n%s", diff)
		}
	}
	served := len(up.records(t))
	for _, wait := range []time.Duration{0, 30 * time.Second, 29 * time.Second, 1500 * time.Millisecond} {
		clock.advance(wait)
		r := try()
		e := readError(t, r.body)
		if r.status != http.StatusTooManyRequests || e.Code != "RATE_LIMITED" || !strings.HasPrefix(e.Message, "This API key is limited to 3 requests a minute. Try again in ") {
			t.Fatalf("after %v: got %d %s, want 429 RATE_LIMITED", wait, r.status, r.body)
		}
		if got := limitHeaders(r.header, "x-ratelimit-")["remaining-requests"]; got != "0" {
			t.Errorf("refused: %s remain, want 0", got)
		}
	}
	retry, err := strconv.Atoi(try().header.Get("Retry-After"))
	if err != nil || retry != 1 { // half a second, rounded up
		t.Errorf("Retry-After %d, want 1", retry)
	}
	if got := len(up.records(t)); got != served {
		t.Errorf("%d requests went upstream that were refused", got-served)
	}
	clock.advance(time.Duration(retry) * time.Second)
	for range 3 {
		h.mustAnswer(try())
	}
	if got := h.do(ask{path: "/v1/uses", key: key}); strings.Contains(got.body, "RATE") || got.status != http.StatusOK {
		t.Errorf("uses are limited: %d %s", got.status, got.body)
	} else if left := limitHeaders(got.header, "x-ratelimit-")["remaining-requests"]; left != "0" {
		t.Errorf("uses say that %s requests remain, want 0", left)
	}
}

// TestTokenLimit is that what was reserved is settled to what was used, in the
// headers of a whole reply, of a stream's and of an error's.
func TestTokenLimit(t *testing.T) {
	t.Parallel()
	up, clock := newUpstream(t), newHandClock()
	h := open(t, setup{yaml: providersYAML(up.url) + "limits:\n  per_account: {tpm: 10000}\n", now: clock.now})
	left := func(r reply) string { return limitHeaders(r.header, "x-ratelimit-")["remaining-tokens"] }
	r := h.chat("house/echo") // 12 tokens in, 4 out
	h.mustAnswer(r)
	if got := left(r); got != "9984" {
		t.Errorf("after one: %s tokens remain, want 9984", got)
	}
	if r := h.stream("house/echo"); r.status != http.StatusOK || left(r) >= "9984" {
		t.Errorf("a stream: %d, %s remain; want less than 9984 while it runs", r.status, left(r))
	}
	if r := h.chat("nobody/x"); left(r) != "9968" {
		t.Errorf("an error: %s tokens remain, want 9968", left(r))
	}
	if r := h.chat("house/chat:tokens=11000"); r.status != http.StatusOK || left(r) != "0" {
		t.Errorf("a long answer: %d, %s remain; want 200 and 0", r.status, left(r))
	}
	e := wantRefused(t, h.chat("house/echo"))
	if !strings.HasPrefix(e.Message, "This account is limited to 10000 tokens a minute") {
		t.Errorf("message %q", e.Message)
	}
	clock.advance(61 * time.Second)
	h.mustAnswer(h.chat("house/echo"))
}

func wantRefused(t *testing.T, r reply) nativeError {
	t.Helper()
	e := readError(t, r.body)
	if r.status != http.StatusTooManyRequests || e.Code != "RATE_LIMITED" || r.header.Get("Retry-After") == "" {
		t.Errorf("got %d %s, want 429 RATE_LIMITED with Retry-After", r.status, r.body)
	}
	return e
}

// TestConcurrencyLimit is that so many requests run at a time, whatever becomes
// of them.
func TestConcurrencyLimit(t *testing.T) {
	t.Parallel()
	h, up := openSimulated(t)
	h.setOnDisconnect(account.DisconnectCancel)
	key := h.newKey(account.KeyOptions{Account: "default", Limits: account.Limits{Concurrency: 2}})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() {
			r := h.request(ask{path: "/v1/chat", body: hello("house/chat:fault=silence"), key: key})
			if resp, err := h.client.Do(r.WithContext(ctx)); err == nil {
				_ = resp.Body.Close()
			}
		})
	}
	again := ask{path: "/v1/chat", body: hello("house/echo"), key: key}
	await(t, "two requests that run", func() bool {
		n := 0
		for range up.Ledger().Records(0) {
			n++
		}
		return n == 2
	})
	refused := h.do(again)
	e := wantRefused(t, refused)
	if want := "This API key is limited to 2 requests at a time. Try again in 1 second."; e.Message != want || refused.header.Get("Retry-After") != "1" {
		t.Errorf("got %q, Retry-After %s; want %q and 1", e.Message, refused.header.Get("Retry-After"), want)
	}
	h.mustAnswer(h.chat("house/echo")) // another key
	leave()
	running.Wait()
	await(t, "the end of both", func() bool { return h.do(again).status == http.StatusOK })
	for range 20 { // one after the other is one at a time
		h.mustAnswer(h.do(again))
	}
}

// TestLimitAtEveryClientAPI is that a refusal has the vendor's shape and headers, and
// costs nothing.
func TestLimitAtEveryClientAPI(t *testing.T) {
	t.Parallel()
	up, clock := newUpstream(t), newHandClock()
	h := open(t, setup{yaml: providersYAML(up.url), now: clock.now})
	for _, clientAPI := range vendorAPIs() {
		for _, stream := range []bool{false, true} {
			key := h.newKey(account.KeyOptions{Account: "default", Limits: account.Limits{RPM: 1, TPM: 50_000}})
			a := clientAPI.ask("house/echo", stream)
			a.key = key
			if r := h.do(a); r.status != http.StatusOK {
				t.Fatalf("%s: %d %s", clientAPI.path, r.status, r.body)
			}
			served := len(up.records(t))
			r := h.do(a)
			if r.status != http.StatusTooManyRequests || r.header.Get("Retry-After") != "61" || !strings.Contains(r.body, "limited to 1 request a minute") {
				t.Errorf("%s: got %d, Retry-After %q, %s", clientAPI.path, r.status, r.header.Get("Retry-After"), r.body)
			}
			if got := len(up.records(t)); got != served || r.header.Get("X-Weir-Attempts") != "" {
				t.Errorf("%s: a refused request was attempted", clientAPI.path)
			}
			if got := limitHeaders(r.header, "x-ratelimit-"); got["remaining-requests"] != "0" || got["limit-tokens"] != "50000" || got["reset-requests"] != "1m1s" {
				t.Errorf("%s: headers %v", clientAPI.path, got)
			}
			if clientAPI.dialect == "anthropic" {
				wantAnthropicLimits(t, r.header, clock.now())
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
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("Anthropic's headers (-got +want):\n%s", diff)
	}
}

// TestLimitSDKs is that the vendors' own clients take a refusal for what it is.
func TestLimitSDKs(t *testing.T) {
	t.Parallel()
	h, _ := openSimulated(t)
	key := h.newKey(account.KeyOptions{Account: "default", Limits: account.Limits{RPM: 1}})
	h.mustAnswer(h.do(ask{path: "/v1/chat", body: hello("house/echo"), key: key}))

	client := h.sdk(key)
	_, err := client.Chat.Completions.New(t.Context(), sdkAsk("house/echo"))
	if e, ok := errors.AsType[*openai.Error](err); !ok || e.StatusCode != http.StatusTooManyRequests || e.Code != "rate_limit_exceeded" {
		t.Errorf("openai: got %v, want 429 rate_limit_exceeded", err)
	}
	claude := anthropic.NewClient(anthropicoption.WithBaseURL(h.url), anthropicoption.WithAPIKey(key), anthropicoption.WithHTTPClient(h.client), anthropicoption.WithMaxRetries(0))
	_, err = claude.Messages.New(t.Context(), anthropic.MessageNewParams{
		Model: "house/echo", MaxTokens: 50, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Hello"))},
	})
	if e, ok := errors.AsType[*anthropic.Error](err); !ok || e.StatusCode != http.StatusTooManyRequests || e.Type() != anthropic.ErrorTypeRateLimitError {
		t.Errorf("anthropic: got %v, want 429 rate_limit_error", err)
	}
	google, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: key, HTTPClient: h.client, HTTPOptions: genai.HTTPOptions{BaseURL: h.url},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = google.Models.GenerateContent(t.Context(), "house/echo", genai.Text("Hello"), nil)
	if e, ok := errors.AsType[genai.APIError](err); !ok || e.Code != http.StatusTooManyRequests || e.Status != "RESOURCE_EXHAUSTED" {
		t.Errorf("genai: got %v, want 429 RESOURCE_EXHAUSTED", err)
	}
}

// TestLimitsChange is that limits count within a second of being changed, by a
// command or by a reload.
func TestLimitsChange(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: providersYAML(up.url)})
	limit := func() string { return limitHeaders(h.chat("house/echo").header, "x-ratelimit-")["limit-requests"] }
	if got := limit(); got != "0" {
		t.Errorf("at first: limit %s, want 0", got)
	}
	h.configure(providersYAML(up.url) + "limits: {rpm: 900, per_key: {rpm: 800}}\n")
	h.reloads <- struct{}{}
	await(t, "the reloaded limit", func() bool { return limit() == "800" })
	h.administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.SetLimits(ctx, audit.Gateway(), "default", account.Limits{RPM: 700})
		return err
	})
	await(t, "the account's limit", func() bool { return limit() == "700" })
}

// TestLimitsOnValkey is one limit over two gateways, and what they say when the
// server is gone.
func TestLimitsOnValkey(t *testing.T) {
	t.Parallel()
	server, up := redistest.Start(t), newUpstream(t)
	yaml := providersYAML(up.url) + "limits: {rpm: 5}\nvalkey: " + server.URL().Reveal() + "\n"
	patient := func(o *ratelimit.Options) { o.Timeout = patience } // how fast a busy machine is, is not the question
	one, two := open(t, setup{yaml: yaml, limits: patient}), open(t, setup{yaml: yaml, limits: patient})
	served := 0
	for range 5 {
		for _, h := range []*testGateway{one, two} {
			if h.chat("house/echo").status == http.StatusOK {
				served++
			}
		}
	}
	if served != 5 {
		t.Errorf("%d served by two gateways, want 5", served)
	}
	ready := func(mark string) func() bool {
		return func() bool {
			r := one.do(ask{path: "/readyz?verbose", key: noKey})
			return r.status == http.StatusOK && strings.Contains(r.body, "["+mark+"] valkey")
		}
	}
	await(t, "readiness with Valkey", ready("+"))
	server.Kill()
	await(t, "the outage in /readyz", ready("-"))
	if r := two.chat("house/echo"); r.status != http.StatusOK && r.status != http.StatusTooManyRequests {
		t.Errorf("without Valkey: %d %s", r.status, r.body)
	}
	server.Run()
	await(t, "the end of the outage", ready("+"))
}
