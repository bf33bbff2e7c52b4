package chat_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// TestPiecesOfAStreamAreOneMessage sends a conversation as Google's SDKs store it, with a content for each piece of a
// streamed answer: every provider receives one message of the assistant, in order and without its empty pieces.
func TestPiecesOfAStreamAreOneMessage(t *testing.T) {
	t.Parallel()
	const contents = `{"contents":[{"role":"user","parts":[{"text":"one"}]},{"role":"model","parts":[{"text":"Th","thought":true}]},{"role":"model","parts":[{"text":"ink","thought":true}]},` +
		`{"role":"model","parts":[{"text":"He"}]},{"role":"model","parts":[{"text":"l"}]},{"role":"model","parts":[{"text":"lo"}]},{"role":"model","parts":[{"text":""}]},` +
		`{"role":"model","parts":[{"functionCall":{"id":"a","name":"f","args":{}}}]},{"role":"model","parts":[{"functionCall":{"id":"b","name":"g","args":{}}}]},{"role":"model","parts":[{"text":""}]},` +
		`{"role":"user","parts":[{"functionResponse":{"id":"a","name":"f","response":{}}},{"functionResponse":{"id":"b","name":"g","response":{}}}]},{"role":"model","parts":[{"text":""}]},` +
		`{"role":"user","parts":[{"text":"two"}]}]}`
	assistants := regexp.MustCompile(`"role":\s*"(assistant|model)"`)
	for _, wire := range []string{"openai", "anthropic", "responses", "bedrock", "cohere", "ollama"} {
		got := make(chan string, 1)
		ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got <- string(body)
			w.WriteHeader(http.StatusBadRequest)
		}))
		h := harness.Open(t, harness.Setup{YAML: harness.DialectYAML(wire, ts.URL)})
		h.Do(harness.Ask{Path: "/v1beta/models/house/m:generateContent", Body: contents})
		sent := <-got
		if n := len(assistants.FindAllString(sent, -1)); n != 1 {
			t.Errorf("%s was sent %d messages of the assistant: %s", wire, n, sent)
		}
		order := []string{`"one"`, `"Hello"`, `"f"`, `"g"`, `"two"`}
		for i, from := 0, 0; i < len(order); i++ {
			at := strings.Index(sent[from:], order[i])
			if at < 0 {
				t.Errorf("%s was sent no %s behind those before it: %s", wire, order[i], sent)
				break
			}
			from += at
		}
		ts.Close()
	}
}
