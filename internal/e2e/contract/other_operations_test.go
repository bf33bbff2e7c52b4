package contract_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/e2e/harness"
)

// beside describes a path of an operation other than chat: its requests, and its refusals.
type beside struct {
	path, good, bad string
	models          []string
	form            bool
}

func besides() []beside {
	const image, speech = `{"model":"%s","prompt":"A weir"}`, `{"model":"%s","voice":"alloy","input":"A weir"}`
	return []beside{
		{path: "/v1/embeddings", good: `{"model":"%s","input":["A weir","A dam"]}`, bad: `{"model":"%s"}`, models: []string{
			"openai-house/chat", "gemini-house/chat", "cohere-house/chat", "ollama-house/chat",
		}},
		{path: "/v1beta/models/{model}:batchEmbedContents", good: `{"requests":[{"model":"models/%s","content":{"parts":[{"text":"A weir"}]}}]}`, bad: `{"x":"%s"}`, models: []string{
			"gemini-house/chat", "openai-house/chat",
		}},
		{path: "/v1beta/models/{model}:embedContent", good: `{"model":"models/%s","content":{"parts":[{"text":"A weir"}]}}`, bad: `{"x":"%s"}`, models: []string{
			"gemini-house/chat", "bedrock-house/chat",
		}},
		{path: "/v1beta/models/{model}:countTokens", good: `{"contents":[{"parts":[{"text":"A weir"}]}],"x":"%s"}`, bad: `[%q]`, models: []string{"gemini-house/chat"}},
		{path: "/v1/models/{model}:batchEmbedContents", good: `{"requests":[{"model":"models/%s","content":{"parts":[{"text":"A weir"}]}}]}`, bad: `{"x":"%s"}`, models: []string{
			"gemini-house/chat", "openai-house/chat",
		}},
		{path: "/v1/models/{model}:embedContent", good: `{"model":"models/%s","content":{"parts":[{"text":"A weir"}]}}`, bad: `{"x":"%s"}`, models: []string{
			"gemini-house/chat", "bedrock-house/chat",
		}},
		{path: "/v1/models/{model}:countTokens", good: `{"contents":[{"parts":[{"text":"A weir"}]}],"x":"%s"}`, bad: `[%q]`, models: []string{"gemini-house/chat"}},
		{path: "/v1/messages/count_tokens", good: `{"model":"%s","messages":[{"role":"user","content":"A weir"}]}`, bad: `["%s"]`, models: []string{"anthropic-house/chat"}},
		{path: "/v1/responses/input_tokens", good: `{"model":"%s","input":"A weir"}`, bad: `{"model":"%s","input":"A weir","previous_response_id":"resp_1"}`, models: []string{"responses-house/chat"}},
		{path: "/v1/responses/compact", good: `{"model":"%s","input":"A weir"}`, bad: `{"model":"%s","input":"A weir","stream":true}`, models: []string{"responses-house/chat"}},
		{path: "/v1/images/generations", good: image, bad: `{"model":"%s"}`, models: []string{"studio/paint", "studio/paint-tokens", "studio/paint-stream"}},
		{path: "/v1/audio/speech", good: speech, bad: `{"model":"%s"}`, models: []string{"studio/read"}},
		{path: "/v1/images/edits", form: true, models: []string{"studio/paint", "studio/paint-tokens"}},
		{path: "/v1/audio/transcriptions", form: true, models: []string{"studio/write-text", "studio/write-seconds", "studio/write-tokens"}},
		{path: "/v1/audio/translations", form: true, models: []string{"studio/write-text", "studio/write-seconds"}},
	}
}

func isBesideChat(path string) bool {
	return slices.ContainsFunc(besides(), func(b beside) bool { return b.path == path }) || strings.HasPrefix(path, "/v1/responses/")
}

// mediaProviderYAML configures a provider of images and sound.
func mediaProviderYAML(t *testing.T) string {
	ts := httptest.NewServer(&harness.MediaProvider{T: t})
	t.Cleanup(ts.Close)
	return harness.ProviderYAML("studio", ts.URL)
}

// besideChat requests vectors and token counts.
func (q *replyCheck) besideChat(t *testing.T) { q.ask(t, false) }

// media requests images and sound.
func (q *replyCheck) media(t *testing.T) { q.ask(t, true) }

func (q *replyCheck) ask(t *testing.T, ofMediaProvider bool) {
	onlyUses := q.h.NewKey(account.KeyOptions{Account: "default", Permissions: []account.Permission{account.Uses}})
	for _, b := range besides() {
		if strings.HasPrefix(b.models[0], "studio/") != ofMediaProvider {
			continue
		}
		for _, model := range b.models {
			q.hold(t, b.ask(model), b.path, http.StatusOK)
		}
		q.hold(t, b.ask("nobody/x"), b.path, http.StatusNotFound)
		for key, status := range map[string]int{"wk_wrong": http.StatusUnauthorized, onlyUses: http.StatusForbidden} {
			a := b.ask(b.models[0])
			a.Key = key
			q.hold(t, a, b.path, status)
		}
		a := b.ask(b.models[0])
		if a.Body = "--x\r\n"; !b.form {
			a.Body = fmt.Sprintf(b.bad, b.models[0])
		}
		q.hold(t, a, b.path, http.StatusBadRequest)
	}
}

func (b *beside) ask(model string) harness.Ask {
	a := harness.Ask{Path: strings.Replace(b.path, "{model}", model, 1)}
	if !b.form {
		a.Body = fmt.Sprintf(b.good, model)
		if strings.HasSuffix(model, "-stream") {
			a.Body = strings.TrimSuffix(a.Body, "}") + `,"stream":true}`
		}
		return a
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.WriteField("model", model)
	_ = form.WriteField("prompt", "A weir")
	name := "file"
	if strings.Contains(b.path, "images") {
		name = "image"
	}
	part, _ := form.CreateFormFile(name, "a.wav")
	_, _ = part.Write(harness.WAV(1))
	_ = form.Close()
	a.Body, a.Header = body.String(), []string{"Content-Type", form.FormDataContentType()}
	return a
}

// kept requests stored responses.
func (q *replyCheck) kept(t *testing.T) {
	onlyUses := q.h.NewKey(account.KeyOptions{Account: "default", Permissions: []account.Permission{account.Uses}})
	const at = "/v1/responses/{id}"
	r := q.hold(t, harness.Ask{Path: "/v1/responses", Body: harness.ResponseBody("plain", "openai-house/echo", false)}, "/v1/responses", http.StatusOK)
	id := strings.Trim(string(harness.RawMembers(t, r.Body)["id"]), `"`)
	for _, tt := range []struct{ method, under, wrong string }{
		{http.MethodGet, "", "?stream=true"}, {http.MethodGet, "/input_items", "?limit=0"}, {http.MethodPost, "/cancel", ""}, {http.MethodDelete, "", ""},
	} {
		of := func(id, query, key string) harness.Ask {
			return harness.Ask{Method: tt.method, Path: "/v1/responses/" + id + tt.under + query, Key: key}
		}
		if tt.under == "/cancel" {
			q.hold(t, of(id, "", ""), at+tt.under, http.StatusBadRequest)
		}
		if tt.wrong != "" {
			q.hold(t, of(id, tt.wrong, ""), at+tt.under, http.StatusBadRequest)
		}
		q.hold(t, of("resp_x", "", ""), at+tt.under, http.StatusNotFound)
		q.hold(t, of(id, "", "wk_wrong"), at+tt.under, http.StatusUnauthorized)
		q.hold(t, of(id, "", onlyUses), at+tt.under, http.StatusForbidden)
		if tt.under != "/cancel" {
			q.hold(t, of(id, "", ""), at+tt.under, http.StatusOK)
		}
	}
}
