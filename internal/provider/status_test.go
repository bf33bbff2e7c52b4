package provider_test

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"weir/internal/llm"
	"weir/internal/provider"
)

// answering is a provider that answers every request with the same.
func answering(t testing.TB, status int, h http.Header, body string) *provider.Provider {
	now := func() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		maps.Copy(w.Header(), h)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return newProvider(t, provider.Options{BaseURL: server.URL + "/v1", Now: now})
}

// TestNotFound checks that the error of a 404 that does not mention a model says that the address may be wrong.
func TestNotFound(t *testing.T) {
	t.Parallel()
	const wrong = `The provider acme has no model "small", or its base_url in the configuration is wrong`
	for body, want := range map[string]string{
		`{"error":{"message":"Not Found"}}`:     wrong + `: it said "Not Found".`,
		"404 page not found":                    wrong + ".",
		"":                                      wrong + ".",
		`{"error":{"message":"no Model of m"}}`: `The provider acme has no model "small".`,
		`{"error":{"message":"small: not found"}}`: `The provider acme has no model "small".`,
	} {
		_, f := exchange(t.Context(), answering(t, 404, http.Header{}, body), chat(false))
		if f == nil || f.Err.Code != llm.CodeModelNotFound || f.Err.Message != want {
			t.Errorf("%s: got %+v, want %s", body, f, want)
		}
	}
}

func TestStatusesBecomeCodes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status  int
		code    llm.Code
		own     bool // the client's mistake: reported in the provider's text
		message string
	}{
		{400, llm.CodeInvalidRequest, true, "too long"},
		{413, llm.CodeRequestTooLarge, true, "too long"},
		{422, llm.CodeInvalidRequest, true, "too long"},
		{401, llm.CodeProviderError, false, "The provider acme refused the gateway's own credentials."},
		{402, llm.CodeProviderError, false, "The provider acme refused the gateway's own credentials."},
		{403, llm.CodeProviderError, false, "The provider acme refused the gateway's own credentials."},
		{404, llm.CodeModelNotFound, false, `The provider acme has no model "small", or its base_url in the configuration is wrong: it said "too long".`},
		{405, llm.CodeProviderError, false, "The provider acme answered with status 405."},
		{408, llm.CodeProviderTimeout, false, "The provider acme did not answer in time."},
		{429, llm.CodeRateLimited, false, "The provider acme has reached its rate limit."},
		{500, llm.CodeProviderError, false, "The provider acme answered with status 500."},
		{501, llm.CodeProviderError, false, "The provider acme answered with status 501."},
		{502, llm.CodeProviderError, false, "The provider acme answered with status 502."},
		{503, llm.CodeProviderUnavailable, false, "The provider acme is overloaded or out of service."},
		{504, llm.CodeProviderTimeout, false, "The provider acme did not answer in time."},
		{529, llm.CodeProviderUnavailable, false, "The provider acme is overloaded or out of service."},
	} {
		p := answering(t, tc.status, http.Header{}, `{"error":{"message":"too long","param":"messages","type":"x"}}`)
		_, f := exchange(t.Context(), p, chat(false))
		if f == nil || f.Kind != provider.KindStatus || f.Status != tc.status || !f.Sent() {
			t.Errorf("%d: got %v", tc.status, f)
			continue
		}
		if f.Err.Code != tc.code || f.Err.Message != tc.message {
			t.Errorf("%d: got %s %q, want %s %q", tc.status, f.Err.Code, f.Err.Message, tc.code, tc.message)
		}
		if f.Upstream.Message != "too long" || f.Upstream.Code != "x" {
			t.Errorf("%d: got the explanation %+v", tc.status, f.Upstream)
		}
		wantParam := ""
		if tc.own {
			wantParam = "messages"
		}
		if f.Err.Param != wantParam {
			t.Errorf("%d: got the parameter %q, want %q", tc.status, f.Err.Param, wantParam)
		}
	}
}

func TestNoExplanation(t *testing.T) {
	t.Parallel()
	p := answering(t, 400, http.Header{"Content-Encoding": {"gzip"}}, `{"error":{"message":"\u001f"}}`)
	_, f := exchange(t.Context(), p, chat(true))
	want := "The provider acme refused the request without an explanation."
	if f == nil || f.Err.Message != want {
		t.Errorf("got %v, want %q", f, want)
	}
}

// TestMissingCreditIsNotTheClients checks that an account without money is not the client's mistake, for all statuses
// by which providers report it: Anthropic's is 400.
func TestMissingCreditIsNotTheClients(t *testing.T) {
	t.Parallel()
	p := answering(t, 400, http.Header{}, `{"type":"error","error":{"type":"billing_error","message":"Your credit balance is too low."}}`)
	_, f := exchange(t.Context(), p, chat(false))
	if f == nil || f.Status != http.StatusPaymentRequired || f.Err.Code != llm.CodeProviderError {
		t.Errorf("got %v, want a failure of our account", f)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		header, value string
		want          time.Duration
	}{
		{"Retry-After", "", 0},
		{"Retry-After", "7", 7 * time.Second},
		{"Retry-After", " 7 ", 7 * time.Second},
		{"Retry-After", "0.25", 250 * time.Millisecond},
		{"Retry-After", "31536000", time.Hour},
		{"Retry-After", "99999999999999999999999999", time.Hour},
		{"Retry-After", "-5", 0},
		{"Retry-After", "soon", 0},
		{"Retry-After", "Inf", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "0x10", 0},
		{"Retry-After", "1.2.3", 0},
		{"Retry-After", "Fri, 20 Nov 2026 12:00:30 GMT", 30 * time.Second},
		{"Retry-After", "Sat, 20 Nov 2027 12:00:30 GMT", time.Hour},
		{"Retry-After", "Thu, 19 Nov 2026 12:00:30 GMT", 0},
		{"Retry-After-Ms", "1500", 1500 * time.Millisecond},
		{"Retry-After-Ms", "x", 0},
	} {
		p := answering(t, 429, http.Header{tc.header: {tc.value}}, "")
		_, f := exchange(t.Context(), p, chat(false))
		if f == nil || f.RetryAfter != tc.want || f.Err.RetryAfter != tc.want {
			t.Errorf("%s: %q: got %v, want %s", tc.header, tc.value, f, tc.want)
		}
	}
}

// TestBodyPrecedesHeaders checks the facts for which an error's body precedes its headers.
func TestBodyPrecedesHeaders(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		body   string
		header string // Retry-After
		status int
		code   llm.Code
		after  time.Duration
	}{
		{`{"error":{"message":"no such key","really":401}}`, "", 401, llm.CodeProviderError, 0},
		{`{"error":{"message":"wait","really":429,"again":48}}`, "", 429, llm.CodeRateLimited, 48 * time.Second},
		{`{"error":{"message":"wait","really":429,"again":48}}`, "7", 429, llm.CodeRateLimited, 7 * time.Second},
		{`{"error":{"message":"wait","really":429,"again":99999}}`, "", 429, llm.CodeRateLimited, time.Hour},
	} {
		p := answering(t, 400, http.Header{"Retry-After": {tc.header}}, tc.body)
		_, f := exchange(t.Context(), p, chat(false))
		if f == nil || f.Status != tc.status || f.Err.Code != tc.code || f.RetryAfter != tc.after || f.Err.RetryAfter != tc.after {
			t.Errorf("%s: got %v, want status %d, %s after %s", tc.body, f, tc.status, tc.code, tc.after)
		}
	}
}

func TestLongExplanation(t *testing.T) {
	t.Parallel()
	p := answering(t, 400, http.Header{}, `{"error":{"message":"`+strings.Repeat("é", 20_000)+`"}}`)
	_, f := exchange(t.Context(), p, chat(false))
	if f == nil || len(f.Err.Message) > 3<<10 || !utf8.ValidString(f.Err.Message) {
		t.Errorf("got %d bytes, valid %t", len(f.Err.Message), utf8.ValidString(f.Err.Message))
	}
}

func TestAsFailure(t *testing.T) {
	t.Parallel()
	own := provider.Truncated()
	if got := provider.AsFailure(errors.Join(own)); got != own {
		t.Errorf("got %v, want the same failure", got)
	}
	limited := &llm.Error{Code: llm.CodeRateLimited, Message: "Slow down.", RetryAfter: time.Second}
	if got := provider.AsFailure(limited); got.Kind != provider.KindInStream || got.Err != limited || got.RetryAfter != time.Second {
		t.Errorf("got %v, want %v", got, provider.KindInStream)
	}
	if got := provider.AsFailure(io.ErrNoProgress); got.Kind != provider.KindProtocol || !errors.Is(got, io.ErrNoProgress) {
		t.Errorf("got %v, want %v with its cause", got, provider.KindProtocol)
	}
	for _, f := range []*provider.Failure{own, provider.InStream(limited), provider.Malformed(io.ErrNoProgress)} {
		if !f.Sent() {
			t.Errorf("%v: got not sent, want sent", f)
		}
	}
}

// TestReasonIsSentence checks that a reason is a sentence, and names the status once.
func TestReasonIsSentence(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"The provider a answered with status 500.": "The provider a answered with status 500.",
		"The provider a is out of service.":        "The provider a is out of service (status 500).",
		"Out of service":                           "Out of service (status 500).",
	} {
		f := &provider.Failure{Kind: provider.KindStatus, Status: 500, Err: &llm.Error{Message: message}}
		if got := f.Reason(); got != want {
			t.Errorf("%s: got %q, want %q", message, got, want)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(200, "application/json", "", `{"error":{"code":429}}`, true)
	f.Add(429, "", "3", `{"error":"x"}`, false)
	f.Add(200, "text/event-stream", "Fri, 20 Nov 2026 12:00:30 GMT", "data: x\n\n", true)
	f.Add(503, "text/html;;", "1e9", "<html>", false)
	f.Fuzz(func(t *testing.T, status int, media, after, body string, stream bool) {
		p := answering(t, status, http.Header{"Content-Type": {media}, "Retry-After": {after}}, body)
		_, got := exchange(t.Context(), p, chat(stream))
		if got == nil {
			return
		}
		if got.RetryAfter < 0 || got.RetryAfter > time.Hour || got.Err.Code == "" || got.Err.Message == "" || !got.Sent() {
			t.Errorf("%d %q %q %q: got %+v", status, media, after, body, got)
		}
	})
}
