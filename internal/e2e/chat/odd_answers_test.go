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

// chunks builds a stream of chat completions with these choices[0], the usage, and [DONE].
func chunks(choices ...string) string {
	var b strings.Builder
	const head = `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[`
	for _, c := range choices {
		_, _ = fmt.Fprintf(&b, "%s{\"index\":0,%s}]}\n\n", head, c)
	}
	return b.String() + head + `],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}` + "\n\ndata: [DONE]\n\n"
}

func callPiece(members string) string {
	return `"delta":{"tool_calls":[{` + members + `}]},"finish_reason":null`
}

// oddAnswers has answers in forms of some servers, by the model's name.
var oddAnswers = map[string]string{
	"turns": chunks(
		callPiece(`"index":0,"id":"t0","type":"function","function":{"name":"f","arguments":"{\"a\""}`),
		callPiece(`"index":1,"id":"t1","type":"function","function":{"name":"g","arguments":"{\"a\""}`),
		callPiece(`"index":0,"function":{"arguments":":\"1\"}"}`), callPiece(`"index":1,"function":{"arguments":":\"2\"}"}`),
		`"delta":{},"finish_reason":"tool_calls"`),
	"late-name": chunks(
		callPiece(`"index":0,"id":"t0","type":"function","function":{"arguments":"{\"a\""}`),
		callPiece(`"index":0,"function":{"name":"f","arguments":":\"1\"}"}`), `"delta":{},"finish_reason":"tool_calls"`),
	"empty-name": chunks(
		callPiece(`"index":0,"id":"t0","type":"function","function":{"name":"","arguments":"{\"a\":"}`),
		callPiece(`"index":0,"function":{"name":"f","arguments":""}`), callPiece(`"index":0,"function":{"arguments":"\"1\"}"}`),
		`"delta":{},"finish_reason":"tool_calls"`),
	"late-id": chunks(
		callPiece(`"index":0,"function":{"arguments":"{\"a\""}`),
		callPiece(`"index":0,"id":"t0","type":"function","function":{"name":"f","arguments":":\"1\"}"}`),
		`"delta":{},"finish_reason":"tool_calls"`),
	"no-reason": chunks(
		callPiece(`"index":0,"id":"t0","type":"function","function":{"name":"f","arguments":"{\"a\":\"1\"}"}`)),
	"no-reason-words": chunks(`"delta":{"role":"assistant","content":"Hello"},"finish_reason":null`),
	"whole-no-reason": `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":null}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`,
	"broken": chunks(
		callPiece(`"index":0,"id":"t0","type":"function","function":{"name":"f","arguments":"{\"a\""}`), `"delta":{},"finish_reason":"tool_calls"`),
	"no-object": chunks(
		callPiece(`"index":0,"id":"t0","type":"function","function":{"name":"f","arguments":"x"}`), `"delta":{},"finish_reason":"tool_calls"`),
	"cut-call": chunks(
		callPiece(`"index":0,"id":"t0","type":"function","function":{"name":"f","arguments":"{\"a\""}`), `"delta":{},"finish_reason":"length"`),
	"empty-list": chunks(
		callPiece(`"index":0,"id":"t0","type":"function","function":{"name":"f","arguments":"[]"}`), `"delta":{},"finish_reason":"tool_calls"`),
	"whole-broken":    wholeCall(`x`),
	"whole-cut":       wholeCall(`{\"a\"`),
	"whole-emptylist": wholeCall(`[]`),
}

func wholeCall(arguments string) string {
	return `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"t0","type":"function","function":{"name":"f","arguments":"` +
		arguments + `"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`
}

// TestOddAnswers checks the answers that clients of each API receive for odd ones, and their rows in the ledger.
func TestOddAnswers(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, name, _ := strings.Cut(string(body), `"model":"`)
		name, _, _ = strings.Cut(name, `"`)
		w.Header().Set("Content-Type", "application/json")
		if !strings.HasPrefix(name, "whole") {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		_, _ = io.WriteString(w, oddAnswers[name])
	}))
	t.Cleanup(up.Close)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL)})
	one := map[string]string{ // the call f of {"a":"1"}, once
		"/v1/responses": `"name":"f","arguments":"{\"a\":\"1\"}"`, "/v1beta": `"name":"f","args":{"a":"1"}`,
		"/v1/messages": `"id":"t0","name":"f","input":{}`,
	}
	const failed = "a failure"
	for name, want := range map[string]map[string]string{
		"turns":           {"/v1/messages": "in order", "/v1/responses": `"name":"g","arguments":"{\"a\":\"2\"}"`, "/v1beta": `"name":"g","args":{"a":"2"}`},
		"late-name":       one,
		"empty-name":      one,
		"late-id":         one,
		"no-reason":       {"/v1/messages": `"stop_reason":"tool_use"`, "/v1/responses": one["/v1/responses"], "/v1beta": one["/v1beta"], "/v1/chat": "data: [DONE]"},
		"no-reason-words": {"/v1/messages": `"stop_reason":"end_turn"`, "/v1/responses": `"status":"completed"`, "/v1beta": `"finishReason":"STOP"`, "/v1/chat": "data: [DONE]"},
		"whole-no-reason": {"/v1/messages": `"stop_reason":"end_turn"`, "/v1/responses": `"status":"completed"`, "/v1beta": `"finishReason":"STOP"`, "/v1/chat": `"finish_reason":null`},
		"broken":          {"/v1/messages": failed, "/v1beta": failed, "/v1/responses": `"arguments":"{\"a\""`, "/v1/chat": "data: [DONE]"},
		"no-object":       {"/v1/messages": failed, "/v1beta": failed},
		"cut-call":        {"/v1/messages": `"stop_reason":"max_tokens"`},
		"empty-list":      {"/v1/messages": `"input":{}`, "/v1beta": `"args":{}`},
		"whole-broken":    {"/v1/messages": failed, "/v1beta": failed, "/v1/responses": `"arguments":"x"`},
		"whole-cut":       {"/v1/messages": failed, "/v1beta": failed},
		"whole-emptylist": {"/v1/messages": `"input":{}`, "/v1beta": `"args":{}`},
	} {
		for path, piece := range want {
			for _, api := range harness.VendorAPIs() {
				if !strings.HasPrefix(api.Path, path) {
					continue
				}
				r := h.Do(api.Ask("house/"+name, !strings.HasPrefix(name, "whole")))
				row := h.Row(r.Header.Get("X-Request-Id"))
				bad := r.Broken || r.Status != http.StatusOK
				if bad != (piece == failed) || (row.Outcome == "ok") == bad || row.Provenance != "exact" || row.In != 10 || row.Out != 5 {
					t.Errorf("%s at %s: got %d, want %s, and in the ledger %+v exact:\n%s", name, path, r.Status, piece, row, r.Body)
				}
				if piece == "in order" {
					inOrder(t, r.Body)
				} else if piece != failed && !strings.Contains(r.Body, piece) {
					t.Errorf("%s at %s: no %s in\n%s", name, path, piece, r.Body)
				}
				if strings.Contains(r.Body, `"name":""`) || strings.Contains(r.Body, `"partial_json":"[]"`) {
					t.Errorf("%s at %s: an empty name, or a list for an object, in\n%s", name, path, r.Body)
				}
			}
		}
	}
}

// inOrder checks that the first of two blocks is stopped before the second begins, and that no delta follows its stop.
func inOrder(t *testing.T, stream string) {
	t.Helper()
	var got []string
	for line := range strings.Lines(stream) {
		if data, ok := strings.CutPrefix(line, `data: {"type":"content_block_`); ok {
			kind, rest, _ := strings.Cut(data, `"`)
			_, index, _ := strings.Cut(rest, `"index":`)
			got = append(got, kind+index[:1])
		}
	}
	if want := "start0 delta0 delta0 stop0 start1 delta1 delta1 stop1"; strings.Join(got, " ") != want {
		t.Errorf("the events of blocks are %q, want %s", got, want)
	}
}

// TestUsageOfNone checks that a client that does not request the usage of a stream gets no null usage, and that another
// one gets the provider's bytes.
func TestUsageOfNone(t *testing.T) {
	t.Parallel()
	const piece = `data: {"id":"c1", "choices": [{"index": 0, "delta": {"content": "\"usage\": null,"}, "finish_reason": null}], "usage": null}` + "\n\n"
	const rest = `data: {"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}` + "\n\n" +
		`data: {"id":"c1","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}` + "\n\ndata: [DONE]\n\n"
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, piece+rest)
	}))
	t.Cleanup(up.Close)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL)})
	r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: harness.Completion("house/m", `,"stream":true`)})
	want := strings.Replace(piece, `, "usage": null}`, `}`, 1) + `data: {"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	if r.Body != want {
		t.Errorf("without requested usage: got\n%s\nwant\n%s", r.Body, want)
	}
	if r = h.Do(harness.Ask{Path: "/v1/chat/completions", Body: harness.Completion("house/m", harness.AsksUsage)}); !strings.HasPrefix(r.Body, piece) {
		t.Errorf("with requested usage: got\n%s\nwant at first\n%s", r.Body, piece)
	}
}
