package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/e2e/harness"
	"weir/internal/gateway"
)

// endings are what a provider of OpenAI's wire format does, by its model's name.
func endings() map[string]func(send func(delta, finish string), w http.ResponseWriter) {
	const quiet = 300 * time.Millisecond // several keep-alives of the gateway
	refuse := func(w http.ResponseWriter, status int) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"error":{"message":"no","type":"server_error"}}`)
	}
	call := func(index int, more string) string {
		return fmt.Sprintf(`"tool_calls":[{"index":%d,%s}]`, index, more)
	}
	return map[string]func(send func(delta, finish string), w http.ResponseWriter){
		"cut":        func(func(string, string), http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"broken off": func(send func(delta, finish string), _ http.ResponseWriter) { send("", "insufficient_system_resource") },
		"refused late": func(_ func(string, string), w http.ResponseWriter) {
			time.Sleep(quiet)
			refuse(w, http.StatusBadRequest)
		},
		"silent": func(send func(delta, finish string), _ http.ResponseWriter) {
			time.Sleep(quiet)
			send(`"content":" there"`, "stop")
		},
		"calls in turns": func(send func(delta, finish string), _ http.ResponseWriter) {
			for i := range 2 {
				send(call(i, fmt.Sprintf(`"id":"call_%d","type":"function","function":{"name":"weather","arguments":"{\"ci"}`, i)), "")
			}
			for i, city := range []string{"Bern", "Basel"} {
				send(call(i, `"function":{"arguments":"ty\":\"`+city+`\"}"}`), "")
			}
			send("", "tool_calls")
		},
		"429": func(_ func(string, string), w http.ResponseWriter) { refuse(w, http.StatusTooManyRequests) },
		"504": func(func(string, string), http.ResponseWriter) { time.Sleep(time.Second) },
	}
}

// serveEnding is one answer: a piece, and how it ends.
func serveEnding(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // what is missing of it names no model
	send := func(delta, finish string) {
		if finish != "" {
			finish = `"` + finish + `"`
		} else {
			finish = "null"
		}
		_, _ = fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{%s},"finish_reason":%s}]}`+"\n\n", delta, finish)
		_ = http.NewResponseController(w).Flush()
	}
	for name, end := range endings() {
		if !strings.Contains(string(body), `"`+strings.ReplaceAll(name, " ", "-")) {
			continue
		}
		if !slices.Contains([]string{"refused late", "429", "504"}, name) {
			w.Header().Set("Content-Type", "text/event-stream")
			send(`"role":"assistant","content":"Hello"`, "")
		}
		end(send, w)
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}
}

// TestApplicationsNoticeHowAnswersEnd holds, for every SDK, that a stream that did not end well is an error and never a
// shorter answer, that silence loses nothing, and that calls whose pieces take turns have their arguments.
func TestApplicationsNoticeHowAnswersEnd(t *testing.T) {
	t.Parallel()
	ts := httptest.NewServer(http.HandlerFunc(serveEnding))
	t.Cleanup(ts.Close)
	yaml := "providers:" + harness.ProviderYAML("house", ts.URL) + harness.Hasty(harness.ProviderYAML("hasty", ts.URL), "200ms", "5s")
	h := harness.Open(t, harness.Setup{YAML: yaml, Timing: gateway.Timing{KeepAlive: 50 * time.Millisecond}})
	for _, client := range sdkClients() {
		for name := range endings() {
			t.Run(client.clientAPI+" "+name, func(t *testing.T) {
				t.Parallel()
				provider := "house"
				if name == "504" {
					provider = "hasty"
				}
				q := sdkQuestion{model: provider + "/" + strings.ReplaceAll(name, " ", "-"), stream: true, tool: name == "calls in turns"}
				got, err := client.ask(sdkCall{ctx: t.Context(), url: h.URL, key: h.Key, client: h.Client}, q)
				arguments := []string{}
				for _, c := range got.calls {
					arguments = append(arguments, c.arguments)
				}
				switch name {
				case "silent":
					if err != nil || got.text != "Hello there" {
						t.Errorf("got %q, %v, want the whole text", got.text, err)
					}
				case "calls in turns":
					if want := []string{`{"city":"Bern"}`, `{"city":"Basel"}`}; err != nil || !slices.Equal(arguments, want) {
						t.Errorf("got the arguments %q, %v, want %q", arguments, err, want)
					}
				default:
					if err == nil {
						t.Errorf("got the text %q, want an error", got.text)
					}
				}
			})
		}
	}
}
