package app_test

import (
	"net/http"
	"slices"
	"testing"
	"time"
)

// vendorAPI is a client API of a vendor's, with a request that is good there.
type vendorAPI struct {
	dialect, path string
	// body is a request for a model; where that stands in the path, at takes it.
	body func(model, members string) string
	at   func(model string, stream bool) string
}

func vendorAPIs() []vendorAPI {
	fixed := func(path string) func(string, bool) string { return func(string, bool) string { return path } }
	return []vendorAPI{
		{dialect: "openai", path: "/v1/chat/completions", body: completion, at: fixed("/v1/chat/completions")},
		{dialect: "responses", path: "/v1/responses", at: fixed("/v1/responses"), body: func(model, members string) string {
			return `{"model":"` + model + `","input":"Say it again, please"` + members + `}`
		}},
		{dialect: "anthropic", path: "/v1/messages", at: fixed("/v1/messages"), body: func(model, members string) string {
			return `{"model":"` + model + `","max_tokens":500,"messages":[{"role":"user","content":"Say it again, please"}]` + members + `}`
		}},
		{dialect: "gemini", path: "/v1beta/models/house/echo:generateContent", at: geminiPath, body: func(_, members string) string {
			return `{"contents":[{"role":"user","parts":[{"text":"Say it again, please"}]}]` + members + `}`
		}},
	}
}

func geminiPath(model string, stream bool) string {
	if stream {
		return "/v1beta/models/" + model + ":streamGenerateContent?alt=sse"
	}
	return "/v1beta/models/" + model + ":generateContent"
}

// ask is a good request for a model.
func (d *vendorAPI) ask(model string, stream bool) ask {
	members := ""
	if stream && d.dialect != "gemini" {
		members = `,"stream":true`
	}
	return ask{path: d.at(model, stream), body: d.body(model, members)}
}

// TestVendorHeaders is what stands on every reply of a vendor's client API, whatever
// became of the request.
func TestVendorHeaders(t *testing.T) {
	t.Parallel()
	h, _ := openSimulated(t)
	for _, clientAPI := range vendorAPIs() {
		nobody, unknown, get := clientAPI.ask("house/echo", false), clientAPI.ask("nobody/x", false), clientAPI.ask("house/echo", false)
		nobody.key, get.method = "wk_no", http.MethodPut
		for what, a := range map[string]ask{
			"whole": clientAPI.ask("house/echo", false), "stream": clientAPI.ask("house/echo", true), "nobody": nobody,
			"no such model": unknown, "another method": get, "no JSON": {path: clientAPI.at("house/echo", false), body: "hello"},
			"too many": clientAPI.ask("house/chat:status=429,retry_after=7", true),
		} {
			r := h.do(a)
			wantCommonHeaders(t, r.header)
			if clientAPI.dialect == "anthropic" {
				wantAnthropicHeaders(t, what, r.header)
			} else if r.header.Get("Request-Id") != "" || r.header.Get("Anthropic-Ratelimit-Requests-Limit") != "" {
				t.Errorf("%s, %s: headers of Anthropic's: %v", clientAPI.path, what, r.header)
			}
			if retry := r.header.Get("Retry-After"); what == "too many" && retry != "7" {
				t.Errorf("%s, %s: Retry-After %q, want 7", clientAPI.path, what, retry)
			}
		}
	}
}

func wantAnthropicHeaders(t *testing.T, what string, h http.Header) {
	t.Helper()
	if id := h.Get("Request-Id"); id == "" || id != h.Get("X-Request-Id") {
		t.Errorf("%s: request-id %q, want the X-Request-Id %q", what, id, h.Get("X-Request-Id"))
	}
	for _, of := range []string{"Requests", "Tokens"} {
		for _, kind := range []string{"Limit", "Remaining"} {
			if got := h.Values("Anthropic-Ratelimit-" + of + "-" + kind); !slices.Equal(got, []string{"0"}) {
				t.Errorf("%s: %s %s is %q, want 0 where there is no limit", what, of, kind, got)
			}
		}
		reset := h.Get("Anthropic-Ratelimit-" + of + "-Reset")
		if at, err := time.Parse(time.RFC3339, reset); err != nil || at.After(time.Now()) {
			t.Errorf("%s: the %s are there again at %q (%v), want a time that has come", what, of, reset, err)
		}
	}
}
