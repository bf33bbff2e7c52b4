package faults_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestFilterDetailsOfAzure checks that a client of OpenAI's APIs receives the findings of Azure's content filter, in
// Azure's text and by category, and nothing of the operator's own lists: instead of a whole answer, and in a stream.
func TestFilterDetailsOfAzure(t *testing.T) {
	t.Parallel()
	const (
		found = `{"hate":{"filtered":false,"severity":"safe"},"jailbreak":{"filtered":true,"detected":true},` +
			`"custom_blocklists":{"filtered":true,"details":[{"id":"acme-rivals","filtered":true}]},"X y":{"filtered":true},"purview":"acme"}`
		told = `{"hate":{"filtered":false,"severity":"safe"},"jailbreak":{"filtered":true,"detected":true},"custom_blocklists":{"filtered":true}}`
		says = `"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","param":"prompt","code":"content_filter"`
		chat = `{"error":{` + says + `,"type":null,"status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":` + found + `}}}`
		list = `{"error":{` + says + `,"type":"invalid_request_error","content_filters":[{"blocked":true,"source_type":"prompt","content_filter_raw":[{"acme":1}],` +
			`"content_filter_results":` + found + `}]}}`
	)
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, _ := io.ReadAll(r.Body)
		body := chat
		if strings.HasSuffix(r.URL.Path, "/responses") {
			body = list
		}
		if strings.Contains(string(request), "late") {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: "+body+"\n\n")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(ts.Close)
	h := harness.Open(t, harness.Setup{
		YAML: "providers:" + harness.ProviderYAML("azure", ts.URL) + harness.SpokenBy("answers", "responses", ts.URL, "/v1"),
	})
	const ask = `[{"role":"user","content":"Hi"}]`
	for _, tt := range []struct{ path, body string }{
		{"/v1/chat/completions", `{"model":"azure/gpt-4o","messages":` + ask + `}`},
		{"/v1/chat/completions", `{"model":"azure/gpt-4o","stream":true,"messages":` + ask + `}`},
		{"/v1/chat/completions", `{"model":"azure/late","stream":true,"messages":` + ask + `}`},
		{"/v1/chat/completions", `{"model":"answers/gpt-4o","messages":` + ask + `}`},
		{"/v1/responses", `{"model":"azure/gpt-4o","input":"Hi"}`},
		{"/v1/responses", `{"model":"answers/gpt-4o","input":"Hi"}`},
		{"/v1/responses", `{"model":"answers/gpt-4o","stream":true,"input":"Hi"}`},
	} {
		r := h.Do(harness.Ask{Path: tt.path, Body: tt.body})
		for _, want := range []string{
			`"code":"content_filter"`, `"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":` + told + `}`,
			`"content_filters":[{"blocked":true,"source_type":"prompt","content_filter_results":` + told + `}]`,
		} {
			if r.Status != http.StatusBadRequest || !strings.Contains(r.Body, want) || strings.Contains(r.Body, "acme") {
				t.Errorf("%s %s: got %d %s, want %s in it", tt.path, tt.body, r.Status, r.Body, want)
			}
		}
	}
	for path, body := range map[string]string{
		"/v1/messages": `{"model":"azure/gpt-4o","max_tokens":9,"messages":` + ask + `}`,
		"/v1beta/models/azure/gpt-4o:generateContent": `{"contents":[{"parts":[{"text":"Hi"}]}]}`,
	} {
		r := h.Do(harness.Ask{Path: path, Body: body})
		if r.Status != http.StatusBadRequest || !strings.Contains(r.Body, "content management policy") || strings.Contains(r.Body, "acme") {
			t.Errorf("%s: got %d %s, want the provider's sentence alone", path, r.Status, r.Body)
		}
	}
}
