package chat_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestTargetsThatCannot checks that a target that cannot serve a request is skipped if another one can.
func TestTargetsThatCannot(t *testing.T) {
	t.Parallel()
	s := harness.NewStoryProvider(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("one", s.URL) + `
models:
  one/whole-plain: {context: 1000, images: false, documents: false, audio: false, tools: false, structured: false}
  one/whole-small: {context: 1000}
aliases:
  both: {targets: [one/whole-plain, one/whole-able]}
  neither: {targets: [one/whole-plain, one/whole-small]}
`})
	const able, plain = "one/whole-able", "one/whole-plain"
	image := `[{"type":"text","text":"What is this?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]`
	tests := []struct{ name, alias, content, members, want string }{
		{"nothing asked of it", "both", `"Hello"`, "", plain},
		{"an image", "both", image, "", able},
		{"a document", "both", `[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AAAA"}}]`, "", able},
		{"a sound", "both", `[{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}]`, "", able},
		{"a tool", "both", `"Hello"`, `,"tools":[{"type":"function","function":{"name":"f","parameters":{}}}]`, able},
		{"a schema", "both", `"Hello"`, `,"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object"}}}`, able},
		{"a long text", "both", `"` + strings.Repeat("word ", 2000) + `"`, "", able},
		{"a long answer", "both", `"Hello"`, `,"max_tokens":2000`, able},
		{"an image that none can take for certain", "neither", image, "", "one/whole-small"},
		{"a text that none can take", "neither", `"` + strings.Repeat("word ", 2000) + `"`, "", plain},
	}
	for _, test := range tests {
		r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"` + test.alias + `","messages":[{"role":"user","content":` + test.content + `}]` + test.members + `}`})
		if got := r.Header.Get("X-Weir-Model"); r.Status != http.StatusOK || got != test.want {
			t.Errorf("%s: %d by %q, want it from %q: %.300s", test.name, r.Status, got, test.want, r.Body)
		}
	}
}

// TestUnknownRoleOfTwoTargets checks that a value that one target of the client's own wire format accepts is accepted
// with two targets: the gateway need not understand it.
func TestUnknownRoleOfTwoTargets(t *testing.T) {
	t.Parallel()
	s := harness.NewStoryProvider(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("one", s.URL) + `
aliases:
  both: {targets: [one/whole-a, one/whole-b]}
`})
	for _, model := range []string{"one/whole-a", "both"} {
		r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"` + model + `","messages":[{"role":"narrator","content":"Once"}]}`})
		if r.Status != http.StatusOK {
			t.Errorf("%s: %d %s, want 200", model, r.Status, r.Body)
		}
	}
}

// TestDroppedOfForwardedBodies forwards a body to a provider that lacks some of its fields: the reply names those.
func TestDroppedOfForwardedBodies(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers: {mistral: {api_keys: [k], allow_private: true, base_url: \"" + up.URL + "/v1\"}}\n"})
	for members, want := range map[string]string{
		`,"user":"u","store":true,"seed":1`:  "store, user",
		`,"stream":true,"verbosity":"low"`:   "verbosity",
		`,"user":null,"metadata":{"user":1}`: "",
	} {
		r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: harness.Completion("mistral/chat", members)})
		if got := r.Header.Get("X-Weir-Dropped"); r.Status != http.StatusOK || got != want {
			t.Errorf("%s: %d, X-Weir-Dropped %q, want %q: %.300s", members, r.Status, got, want, r.Body)
		}
	}
}

// TestDroppedPreferencesAreNamed sends preferences that the provider's wire format lacks: the reply names them. A field
// that would change the meaning is refused before any provider is called.
func TestDroppedPreferencesAreNamed(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + strings.ReplaceAll(harness.ProviderYAML("human", up.URL), "dialect: openai", "dialect: anthropic") + harness.ProviderYAML("house", up.URL) + `
aliases:
  both: {targets: ["human/chat", "house/chat"]}
prices:
  human/*: {input: "1", output: "1"}
`})
	const preferences = `,"seed":7,"presence_penalty":0.5,"logit_bias":{"1":2}`
	for _, members := range []string{preferences, preferences + `,"stream":true`} {
		r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: harness.Completion("human/chat", members)})
		if got := r.Header.Get("X-Weir-Dropped"); r.Status != http.StatusOK || got != "seed, presence_penalty, logit_bias" && got != "presence_penalty, seed, logit_bias" {
			t.Errorf("%d, X-Weir-Dropped %q, want the three names", r.Status, got)
		}
	}
	if r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: harness.Completion("house/chat", preferences)}); r.Header["X-Weir-Dropped"] != nil {
		t.Errorf("X-Weir-Dropped %q where nothing is", r.Header["X-Weir-Dropped"])
	}
	before := up.Ledger().Totals().Requests
	r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: harness.Completion("human/chat", `,"n":2`)})
	if r.Status != http.StatusBadRequest || !strings.Contains(r.Body, `"n"`) || up.Ledger().Totals().Requests != before {
		t.Errorf("two answers of a format that has one: %d %s, want 400 naming n, and no request to a provider", r.Status, r.Body)
	}
	if r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: harness.Completion("both", `,"n":2`)}); r.Header.Get("X-Weir-Model") != "house/chat" {
		t.Errorf("two answers of an alias: %d by %q, want them from the target that can", r.Status, r.Header.Get("X-Weir-Model"))
	}
	many := strings.Builder{}
	for i := range 60_000 {
		fmt.Fprintf(&many, `,"x%d":1`, i)
	}
	r = h.Do(harness.Ask{Path: "/v1/chat/completions", Body: harness.Completion("human/chat", many.String())})
	if r.Status != http.StatusOK || len(r.Header.Get("X-Weir-Dropped")) > 8192 {
		t.Errorf("60,000 unknown fields: %d, with a header of %d bytes", r.Status, len(r.Header.Get("X-Weir-Dropped")))
	}
}

// TestEssentialFields sends a field that changes the answer and that only the wire format of its client API has: it is
// refused before any provider is called, and goes to a target of the same format in an alias.
func TestEssentialFields(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	yaml := "providers:"
	for _, d := range []string{"openai", "responses", "anthropic", "gemini"} {
		yaml += strings.ReplaceAll(harness.ProviderYAML("p-"+d, up.URL), "dialect: openai", "dialect: "+d)
	}
	h := harness.Open(t, harness.Setup{YAML: yaml + `
aliases:
  openai-last: {targets: [p-anthropic/chat, p-openai/chat]}
  responses-last: {targets: [p-openai/chat, p-responses/chat]}
  anthropic-last: {targets: [p-openai/chat, p-anthropic/chat]}
  gemini-last: {targets: [p-openai/chat, p-gemini/chat]}
prices:
  p-anthropic/*: {input: "1", output: "1"}
`})
	for own, ask := range map[string]struct{ path, body, field string }{
		"openai":    {"/v1/chat/completions", `{"model":"MODEL","messages":[{"role":"user","content":"Hi"}],"plugins":[{"id":"file-parser"}]}`, "plugins"},
		"responses": {"/v1/responses", `{"model":"MODEL","input":"Hi","prompt":{"id":"pmpt_1"}}`, "prompt"},
		"anthropic": {"/v1/messages", `{"model":"MODEL","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"mcp_servers":[{"type":"url","url":"https://example.com","name":"m"}]}`, "mcp_servers"},
		"gemini":    {"/v1beta/models/MODEL:generateContent", `{"contents":[{"parts":[{"text":"Hi"}]}],"cachedContent":"cachedContents/1"}`, "cachedContent"},
	} {
		send := func(model string) harness.Reply {
			return h.Do(harness.Ask{Path: strings.ReplaceAll(ask.path, "MODEL", model), Body: strings.ReplaceAll(ask.body, "MODEL", model)})
		}
		before := up.Ledger().Totals().Requests
		foreign := "p-openai/chat"
		if own == "openai" {
			foreign = "p-anthropic/chat"
		}
		if r := send(foreign); r.Status != http.StatusBadRequest || !strings.Contains(r.Body, "The field "+ask.field+" ") || up.Ledger().Totals().Requests != before {
			t.Errorf("%s: %d %s, want 400 naming the field, and no request to a provider", own, r.Status, r.Body)
		}
		if r := send(own + "-last"); r.Status != http.StatusOK || r.Header.Get("X-Weir-Model") != "p-"+own+"/chat" || r.Header["X-Weir-Dropped"] != nil {
			t.Errorf("%s: %d by %q, dropped %q, want it from the target that speaks the same: %.300s", own, r.Status, r.Header.Get("X-Weir-Model"), r.Header.Get("X-Weir-Dropped"), r.Body)
		}
	}
}

// TestFewerAnswers uses a provider that accepts n and returns one answer nevertheless: the client is notified.
func TestFewerAnswers(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"1","choices":[{"index":0,"message":{"role":"assistant","content":"One"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`)
	}))
	t.Cleanup(up.Close)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL)})
	for path, ask := range map[string]struct{ body, dropped string }{
		"/v1/chat/completions":                        {harness.Completion("house/chat", `,"n":2`), "n"},
		"/v1/models/house/chat:generateContent":       {`{"contents":[{"parts":[{"text":"Hi"}]}],"generationConfig":{"candidateCount":2},"store":true}`, "store, n"},
		"/v1beta/models/house%2Fchat:generateContent": {`{"contents":[{"parts":[{"text":"Hi"}]}]}`, ""},
	} {
		r := h.Do(harness.Ask{Path: path, Body: ask.body})
		if got := r.Header.Get("X-Weir-Dropped"); r.Status != http.StatusOK || got != ask.dropped {
			t.Errorf("%s: %d, X-Weir-Dropped %q, want %q: %s", path, r.Status, got, ask.dropped, r.Body)
		}
	}
}
