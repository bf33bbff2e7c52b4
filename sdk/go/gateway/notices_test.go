package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/e2e/harness"
	"weir/internal/gateway"
)

// tardy is a provider of OpenAI's wire format that is silent for several keep-alives of the gateway, within an answer
// or before it refuses, and answers too late for a short timeout, as the model's name says.
func tardy(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // a broken body names no model
	is := func(name string) bool { return strings.Contains(string(body), `"model":"`+name) }
	send := func(delta, finish string) {
		_, _ = fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{%s},"finish_reason":%s}]}`+"\n\n", delta, finish)
		_ = http.NewResponseController(w).Flush()
	}
	refuse := func(status int) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"error":{"message":"no","type":"server_error"}}`)
	}
	const quiet = 300 * time.Millisecond
	switch {
	case is("silent"):
		w.Header().Set("Content-Type", "text/event-stream")
		send(`"role":"assistant","content":"Hello"`, "null")
		time.Sleep(quiet)
		send(`"content":" there"`, `"stop"`)
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	case is("refused"):
		time.Sleep(quiet)
		refuse(http.StatusBadRequest)
	case is("busy"):
		refuse(http.StatusTooManyRequests)
	case is("late"):
		time.Sleep(3 * quiet)
	}
}

// TestSDKsNoticeLateRefusals checks, for every SDK, that a stream that was refused, early, late or for being late, is
// an error and no empty answer, and that silence loses nothing.
func TestSDKsNoticeLateRefusals(t *testing.T) {
	t.Parallel()
	ts := httptest.NewServer(http.HandlerFunc(tardy))
	t.Cleanup(ts.Close)
	yaml := "providers:" + harness.ProviderYAML("house", ts.URL) + harness.Hasty(harness.ProviderYAML("hasty", ts.URL), "200ms", "5s")
	h := harness.Open(t, harness.Setup{YAML: yaml, Timing: gateway.Timing{KeepAlive: 50 * time.Millisecond}})
	for _, client := range sdkClients() {
		for _, model := range []string{"house/silent", "house/refused", "house/busy", "hasty/late"} {
			t.Run(client.clientAPI+" "+model, func(t *testing.T) {
				t.Parallel()
				got, err := client.ask(sdkCall{ctx: t.Context(), url: h.URL, key: h.Key, client: h.Client}, sdkQuestion{model: model, stream: true})
				switch {
				case model != "house/silent" && err == nil:
					t.Errorf("got the text %q, want an error", got.text)
				case model == "house/silent" && (err != nil || got.text != "Hello there"):
					t.Errorf("got %q, %v, want the whole text", got.text, err)
				}
			})
		}
	}
}
