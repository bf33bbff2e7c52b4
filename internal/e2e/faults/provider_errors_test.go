package faults_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// providerErrors lists failures of a provider before the first byte of its answer, and the client's errors.
var providerErrors = []struct {
	model   string // at the provider
	status  int
	code    string
	message string // a part of it, if it matters
	retry   string // Retry-After
	ledger  string // outcome and provenance of the row
	whole   bool   // only for whole answers
}{
	// Its statuses: the caller's, ours, its own.
	{model: "chat:status=400", status: 400, code: "INVALID_REQUEST", ledger: "rejected exact"},
	{model: "chat:status=422", status: 400, code: "INVALID_REQUEST", ledger: "rejected exact"},
	{model: "chat:status=413", status: 413, code: "REQUEST_TOO_LARGE", ledger: "rejected exact"},
	{model: "chat:fault=context-length", status: 400, code: "INVALID_REQUEST", message: "maximum context length", ledger: "rejected exact"},
	{model: "chat:fault=content-policy", status: 400, code: "INVALID_REQUEST", ledger: "rejected exact"},
	{model: "chat:status=401", status: 502, code: "PROVIDER_ERROR", message: "credentials", ledger: "rejected exact"},
	{model: "chat:status=402", status: 502, code: "PROVIDER_ERROR", message: "credentials", ledger: "rejected exact"},
	{model: "chat:status=403", status: 502, code: "PROVIDER_ERROR", message: "credentials", ledger: "rejected exact"},
	{model: "chat:status=404", status: 404, code: "MODEL_NOT_FOUND", ledger: "rejected exact"},
	{model: "chat:status=408", status: 504, code: "PROVIDER_TIMEOUT", ledger: "failed estimated"},
	{model: "chat:status=499", status: 502, code: "PROVIDER_ERROR", ledger: "failed estimated"},
	{model: "chat:status=504", status: 504, code: "PROVIDER_TIMEOUT", ledger: "failed estimated"},
	{model: "chat:status=524", status: 502, code: "PROVIDER_ERROR", ledger: "failed estimated"},
	{model: "chat:status=429,retry_after=7", status: 429, code: "RATE_LIMITED", retry: "7", ledger: "rejected exact"},
	{model: "chat:status=429,retry_after=year", status: 429, code: "RATE_LIMITED", retry: "3600", ledger: "rejected exact"},
	{model: "chat:status=429", status: 429, code: "RATE_LIMITED", retry: "some", ledger: "rejected exact"},
	{model: "chat:status=429,retry_after=garbage", status: 429, code: "RATE_LIMITED", retry: "some", ledger: "rejected exact"},
	{model: "chat:fault=quota", status: 429, code: "RATE_LIMITED", retry: "some", ledger: "rejected exact"},
	{model: "chat:status=500", status: 502, code: "PROVIDER_ERROR", ledger: "rejected exact"},
	{model: "chat:status=502", status: 502, code: "PROVIDER_ERROR", ledger: "rejected exact"},
	{model: "chat:status=503", status: 503, code: "PROVIDER_UNAVAILABLE", retry: "some", ledger: "rejected exact"},
	{model: "chat:status=503,retry_after=3", status: 503, code: "PROVIDER_UNAVAILABLE", retry: "3", ledger: "rejected exact"},
	{model: "chat:status=529", status: 503, code: "PROVIDER_UNAVAILABLE", retry: "some", ledger: "rejected exact"},

	// No answer.
	{model: "chat:fault=reset", status: 502, code: "PROVIDER_ERROR", ledger: "failed estimated"},
	{model: "chat:fault=close", status: 502, code: "PROVIDER_ERROR", ledger: "failed estimated"},
	{model: "chat:fault=silence", status: 504, code: "PROVIDER_TIMEOUT", ledger: "failed estimated"},
	{model: "chat:fault=headers-silence", status: 504, code: "PROVIDER_TIMEOUT", ledger: "failed estimated"},

	// Not an answer.
	{model: "chat:fault=html", status: 502, code: "PROVIDER_ERROR", ledger: "failed estimated"},
	{model: "chat:fault=json-error", status: 502, code: "PROVIDER_ERROR", ledger: "rejected exact"},
	{model: "chat:fault=empty", status: 502, code: "PROVIDER_ERROR", ledger: "failed estimated"},
	{model: "chat:fault=gzip", status: 502, code: "PROVIDER_ERROR", ledger: "failed estimated"},
	{model: "chat:fault=redirect", status: 502, code: "PROVIDER_ERROR"},
	{model: "chat:fault=malformed,at=0", status: 502, code: "PROVIDER_ERROR", ledger: "failed estimated"},
	{model: "chat:fault=no-choices", status: 502, code: "PROVIDER_ERROR", whole: true},
	{model: "chat:fault=cut", status: 502, code: "PROVIDER_ERROR", whole: true, ledger: "failed estimated"},
	{model: "chat:fault=cut-reset", status: 502, code: "PROVIDER_ERROR", whole: true, ledger: "failed estimated"},
	{model: "chat:fault=eof", status: 502, code: "PROVIDER_ERROR", whole: true, ledger: "failed estimated"},
	{model: "chat:fault=error-event", status: 502, code: "PROVIDER_ERROR", whole: true, ledger: "rejected exact"},
	{model: "chat:fault=stall", status: 504, code: "PROVIDER_TIMEOUT", whole: true, ledger: "failed estimated"},
	{model: "chat:fault=length-long", status: 502, code: "PROVIDER_ERROR", whole: true, ledger: "failed estimated"},
	{model: "chat:fault=length-short", status: 502, code: "PROVIDER_ERROR", whole: true, ledger: "failed estimated"},
}

// TestProviderErrors uses a failing provider, for a whole reply and for a stream: before the first byte of an answer,
// both have the same error.
func TestProviderErrors(t *testing.T) {
	t.Parallel()
	h := harness.OpenHasty(t)
	for _, test := range providerErrors {
		for _, accept := range []string{"application/json", "text/event-stream"} {
			if test.whole && accept != "application/json" {
				continue
			}
			t.Run(test.model+" "+accept, func(t *testing.T) {
				t.Parallel()
				provider := "house/"
				if test.code == "PROVIDER_TIMEOUT" {
					provider = "hasty/"
				}
				r := h.Chat(provider+test.model, "Accept", accept)
				e := harness.WantError(t, r, test.status, test.code)
				if !strings.Contains(e.Message, test.message) {
					t.Errorf("message %q, want %q in it", e.Message, test.message)
				}
				if strings.Contains(e.Message, "sign in") || strings.Contains(e.Message, "{") {
					t.Errorf("message %q contains the provider's raw body", e.Message)
				}
				got := r.Header.Get("Retry-After")
				if n, err := strconv.Atoi(got); test.retry == "some" && (err != nil || n < 1) || test.retry != "some" && got != test.retry {
					t.Errorf("Retry-After %q, want %q", got, test.retry)
				}
				if r.Header.Get("X-Weir-Attempts") != "1" {
					t.Errorf("X-Weir-Attempts %q, want 1", r.Header.Get("X-Weir-Attempts"))
				}
				if row := h.Row(e.RequestID); test.ledger != "" && row.Outcome+" "+row.Provenance != test.ledger {
					t.Errorf("the row is %s %s, want %s", row.Outcome, row.Provenance, test.ledger)
				}
			})
		}
	}
}

// TestNoConnection uses an unreachable provider.
func TestNoConnection(t *testing.T) {
	t.Parallel()
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML("http://127.0.0.1:1")}) // a port of the system's: a recently free one could be taken soon
	for _, accept := range []string{"application/json", "text/event-stream"} {
		r := h.Chat("house/echo", "Accept", accept)
		e := harness.WantError(t, r, 502, "PROVIDER_ERROR")
		row := h.Row(e.RequestID)
		if row.Outcome != "refused" || row.Provenance != "exact" || row.Cost != "0" {
			t.Errorf("the row is %+v, want an exact zero of a refused connection", row)
		}
	}
	if u := h.Uses(""); u.Total.Requests != "0" {
		t.Errorf("%s requests counted, want none: nothing reached a provider", u.Total.Requests)
	}
}

// TestTotalTimeout uses an answer that lasts longer than its provider may take.
func TestTotalTimeout(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.Hasty(harness.ProvidersYAML(up.URL), "15s", "4s")}) // the first piece arrives before that
	r := h.Chat("house/chat:tokens=10000,pace=50ms", "Accept", "text/event-stream")
	_, e := harness.SplitStream(t, r.Body)
	if e == nil || e.Code != "PROVIDER_TIMEOUT" {
		t.Errorf("stream ended with %+v, want PROVIDER_TIMEOUT: %s", e, r.Body)
	}
}

// TestFallbackAnswersAfterFailure uses an alias whose first target fails: the next one answers, and the cost of the
// first one is known.
func TestFallbackAnswersAfterFailure(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL) + `
aliases:
  sturdy: {targets: ["house/chat:status=500", "house/chat:fault=reset", "house/echo"]}
  stubborn: {targets: ["house/chat:status=400", "house/echo"]}
  dead: {targets: ["house/chat:status=500", "house/chat:status=503"]}
`})
	for _, accept := range []string{"application/json", "text/event-stream"} {
		r := h.Chat("sturdy", "Accept", accept)
		want := map[string]string{
			"X-Weir-Model": "house/echo", "X-Weir-Requested-Model": "sturdy", "X-Weir-Attempts": "3", "X-Weir-Provider": "house",
		}
		for name, value := range want {
			if r.Header.Get(name) != value {
				t.Errorf("%s: %s is %q, want %q", accept, name, r.Header.Get(name), value)
			}
		}
		if r.Status != http.StatusOK || !strings.Contains(r.Body, `"model":"house/echo"`) {
			t.Errorf("%s: %d %s", accept, r.Status, r.Body)
		}
		if accept == "text/event-stream" && !strings.Contains(r.Body, `"weir":{"attempts":3,"models":["house/chat:status=500","house/chat:fault=reset","house/echo"]}`) {
			t.Errorf("the stream does not report its attempts: %s", r.Body)
		}
	}
	harness.WantError(t, h.Chat("stubborn"), 400, "INVALID_REQUEST")
	r := h.Chat("dead")
	if harness.WantError(t, r, 503, "PROVIDER_UNAVAILABLE"); r.Header.Get("X-Weir-Attempts") != "2" {
		t.Errorf("X-Weir-Attempts %q, want 2", r.Header.Get("X-Weir-Attempts"))
	}
	requests := map[string]string{}
	for _, u := range h.Uses("").Data {
		requests[u.Model] = u.Requests.String()
	}
	want := map[string]string{
		"house/echo": "2", "house/chat:status=503": "1", "house/chat:fault=reset": "0",
		// attempts without usage have no entry: the client's own mistake, and a target that others replaced
		"house/chat:status=400": "", "house/chat:status=500": "",
	}
	for model, n := range want {
		if requests[model] != n {
			t.Errorf("%s: %q requests, want %s: each request counts once, under the model that answered or was tried last", model, requests[model], n)
		}
	}
}
