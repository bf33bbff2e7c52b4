package faults_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// aborting is a provider of OpenAI's format, or of Google's, whose answers end with a finish reason: the model's name
// after a dash, with dots for underscores.
func aborting(google bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, word, _ := strings.Cut(string(body)+r.URL.Path, "end-")
		word = strings.ReplaceAll(word[:strings.IndexAny(word, `":`)], ".", "_")
		stream := r.Header.Get("Accept") == "text/event-stream" || strings.Contains(r.URL.Path, "stream")
		const usage = `"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}`
		piece := func(object, message, content, finish, more string) string {
			return fmt.Sprintf(`{"id":"g","object":"chat.%s","created":1,"model":"m","choices":[{"index":0,%q:{"role":"assistant","content":%q},"finish_reason":%s}]%s}`,
				object, message, content, finish, more)
		}
		if google {
			const half = `{"candidates":[{"content":{"parts":[{"text":"Say"}],"role":"model"},"index":0%s}],"modelVersion":"m","responseId":"g"%s}`
			last := fmt.Sprintf(half, `,"finishReason":"`+word+`"`, `,"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":2,"totalTokenCount":9}`)
			if !stream {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, last)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: %s\n\ndata: %s\n\n", fmt.Sprintf(half, "", ""), last)
			return
		}
		if !stream {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, piece("completion", "message", "Say", `"`+word+`"`, ","+usage))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: %s\n\ndata: %s\n\ndata: %s\n\ndata: [DONE]\n\n", piece("completion.chunk", "delta", "Say", "null", ""),
			piece("completion.chunk", "delta", "", `"`+word+`"`, ""), `{"id":"g","object":"chat.completion.chunk","created":1,"model":"m","choices":[],`+usage+`}`)
	})
}

// TestAbortedGenerations checks that an answer whose finish reason reports a failure is a failure at every client API,
// whole and streamed, translated and passed through: an error, another target if there is one, and in the ledger no
// success, at the provider's usage.
func TestAbortedGenerations(t *testing.T) {
	t.Parallel()
	open, google, spare := httptest.NewServer(aborting(false)), httptest.NewServer(aborting(true)), harness.NewUpstream(t)
	t.Cleanup(open.Close)
	t.Cleanup(google.Close)
	models, yaml := []string{"good/end-stop"}, ""
	providers := harness.SpokenBy("good", "openai", open.URL, "/v1") + harness.SpokenBy("spare", "openai", spare.URL, "/v1")
	for _, word := range []string{"error", "insufficient_system_resource", "OTHER", "MALFORMED_FUNCTION_CALL"} {
		url, dialect, path := open.URL, "openai", "/v1"
		if strings.ToUpper(word) == word {
			url, dialect, path = google.URL, "gemini", ""
		}
		name := strings.ToLower(strings.ReplaceAll(word, "_", "")) // targets share no health
		providers += harness.SpokenBy(name, dialect, url, path)
		model := name + "/end-" + strings.ReplaceAll(word, "_", ".")
		models = append(models, model)
		yaml += fmt.Sprintf("  or-%s: {targets: [%q, spare/echo]}\n", name, model)
	}
	h := harness.Open(t, harness.Setup{YAML: "providers:" + providers + "aliases:\n" + yaml})
	apis := append(harness.VendorAPIs(), harness.VendorAPI{
		Dialect: "native", At: func(string, bool) string { return "/v1/chat" },
		Body: func(model, _ string) string { return harness.Hello(model) },
	})
	for _, api := range apis {
		for _, model := range models {
			for _, stream := range []bool{false, true} {
				ask := func(model string) harness.Reply {
					a := api.Ask(model, stream)
					if stream {
						a.Header = []string{"Accept", "text/event-stream"}
					}
					return h.Do(a)
				}
				name := fmt.Sprintf("%s, %s, stream %v", api.Dialect, model, stream)
				r := ask(model)
				want := harness.Row{Outcome: "cut", In: 7, Out: 2, Provenance: "exact"}
				if model == "good/end-stop" {
					want.Outcome = "ok"
				}
				got := h.Row(r.Header.Get("X-Request-Id"))
				if got.Outcome != want.Outcome || got.In != want.In || got.Out != want.Out || got.Provenance != want.Provenance {
					t.Errorf("%s: the ledger has %+v, want %+v", name, got, want)
				}
				if bad := r.Broken || r.Status == http.StatusBadGateway; bad != (want.Outcome != "ok") || r.Broken && !stream {
					t.Errorf("%s: got %d, a broken end %v: %s", name, r.Status, r.Broken, r.Body)
				}
				if want.Outcome == "ok" {
					continue
				}
				provider, _, _ := strings.Cut(model, "/")
				if r := ask("or-" + provider); !strings.Contains(r.Header.Get("X-Weir-Model")+r.Body, "spare/echo") || r.Status != http.StatusOK || r.Broken && !stream {
					t.Errorf("%s, with another target: got %d %v: %s", name, r.Status, r.Header, r.Body)
				}
			}
		}
	}
}
