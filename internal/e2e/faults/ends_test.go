package faults_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/e2e/harness"
	"weir/internal/gateway"
)

// pieces has the frames of a streamed answer in each wire format: "Half", and the end of the stream.
var pieces = map[string]struct{ half, whole, failure, refusal string }{
	"openai": {
		half:    `data: {"id":"g","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Half"},"finish_reason":null}]}`,
		whole:   `data: {"id":"g","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}}` + "\n\ndata: [DONE]",
		failure: `data: {"error":{"message":"no","type":"server_error"}}`, refusal: `{"error":{"message":"no such thing","type":"invalid_request_error"}}`,
	},
	"responses": {
		half: "event: response.created\n" + `data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":1,"model":"m","status":"in_progress","output":[]}}` + "\n\n" +
			"event: response.output_text.delta\n" + `data: {"type":"response.output_text.delta","sequence_number":1,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"Half"}`,
		whole: "event: response.completed\n" + `data: {"type":"response.completed","sequence_number":2,"response":{"id":"resp_1","object":"response","created_at":1,"model":"m","status":"completed","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Half","annotations":[]}]}],"usage":{"input_tokens":7,"output_tokens":2,"total_tokens":9}}}`,
		failure: "event: response.failed\n" +
			`data: {"type":"response.failed","sequence_number":2,"response":{"id":"resp_1","object":"response","created_at":1,"model":"m","status":"failed","error":{"code":"server_error","message":"no"},"output":[]}}`,
		refusal: `{"error":{"message":"no such thing","type":"invalid_request_error"}}`,
	},
	"anthropic": {
		half: "event: message_start\n" + `data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":7,"output_tokens":1}}}` + "\n\n" +
			"event: content_block_start\n" + `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n" +
			"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Half"}}`,
		whole: "event: content_block_stop\n" + `data: {"type":"content_block_stop","index":0}` + "\n\n" +
			"event: message_delta\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}` + "\n\n" +
			"event: message_stop\n" + `data: {"type":"message_stop"}`,
		failure: "event: error\n" + `data: {"type":"error","error":{"type":"api_error","message":"no"}}`,
		refusal: `{"type":"error","error":{"type":"invalid_request_error","message":"no such thing"}}`,
	},
	"gemini": {
		half:    `data: {"candidates":[{"content":{"parts":[{"text":"Half"}],"role":"model"},"index":0}],"modelVersion":"m","responseId":"g"}`,
		whole:   `data: {"candidates":[{"content":{"parts":[{"text":"."}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":2,"totalTokenCount":9},"modelVersion":"m","responseId":"g"}`,
		failure: `data: {"error":{"code":503,"message":"no","status":"UNAVAILABLE"}}`, refusal: `{"error":{"code":400,"message":"no such thing","status":"INVALID_ARGUMENT"}}`,
	},
}

// lateRefusal is the name of a model that refuses once its client has the head of its answer.
var lateRefusal = regexp.MustCompile(`late-refusal-\w+-\w+`)

// ends is a provider in a wire format whose answers end as their model's name says. For late refusals, begun has a
// channel for each model, which is closed when the client has the head of its answer.
func ends(dialect string, begun map[string]chan struct{}) http.Handler {
	p := pieces[dialect]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		end := func(name string) bool { return strings.Contains(string(body)+r.URL.Path, name) }
		if model := lateRefusal.FindString(string(body) + r.URL.Path); model != "" {
			select {
			case <-begun[model]:
			case <-r.Context().Done():
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, p.refusal)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, p.half+"\n\n")
		_ = http.NewResponseController(w).Flush()
		time.Sleep(5 * time.Millisecond)
		switch {
		case end("whole"):
			_, _ = io.WriteString(w, p.whole+"\n\n")
		case end("reset"):
			panic(http.ErrAbortHandler)
		case end("silent"):
			<-r.Context().Done()
		case end("failure"):
			_, _ = io.WriteString(w, p.failure+"\n\n")
		}
	})
}

// TestStreamsThatEndBadly checks that a failed stream has its vendor's error event and then no well-formed end of its
// body, at every client API, translated and passed through; and that a complete one has neither.
func TestStreamsThatEndBadly(t *testing.T) {
	t.Parallel()
	yaml, begun := "providers:", map[string]chan struct{}{}
	for dialect := range pieces {
		ts := httptest.NewServer(ends(dialect, begun))
		t.Cleanup(ts.Close)
		path := "/v1"
		if dialect == "gemini" || dialect == "anthropic" {
			path = ""
		}
		yaml += harness.SpokenBy(dialect, dialect, ts.URL, path) + harness.Hasty(harness.SpokenBy("hasty-"+dialect, dialect, ts.URL, path), "500ms", "20s")
	}
	h := harness.Open(t, harness.Setup{YAML: yaml, Timing: gateway.Timing{KeepAlive: 20 * time.Millisecond}})
	apis := append(harness.VendorAPIs(), harness.VendorAPI{
		Dialect: "native", At: func(string, bool) string { return "/v1/chat" },
		Body: func(model, _ string) string { return harness.Hello(model) },
	})
	for _, api := range apis {
		for dialect := range pieces {
			late := fmt.Sprintf("late-refusal-%s-%s", api.Dialect, dialect)
			begun[late] = make(chan struct{})
			for _, end := range []string{"whole", "cut", "reset", "silent", "failure", late} {
				t.Run(fmt.Sprintf("%s from %s, %s", api.Dialect, dialect, end), func(t *testing.T) {
					t.Parallel()
					provider := dialect
					if end == "silent" {
						provider = "hasty-" + dialect
					}
					ask := api.Ask(provider+"/"+end, true)
					ask.Header = []string{"Accept", "text/event-stream"}
					ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotFirstResponseByte: func() {
						if head := begun[end]; head != nil {
							close(head)
						}
					}})
					// The error event must be the last one if the body is broken.
					r := h.Send(h.Request(ask).WithContext(ctx))
					if want := end != "whole"; r.Status != http.StatusOK || r.Broken != want {
						t.Errorf("got %d, a broken end %v, want 200 and %v:\n%s", r.Status, r.Broken, want, r.Body)
					}
					markers := []string{"[DONE]", "message_stop", "response.completed", "finishReason"}
					if r.Broken && slices.ContainsFunc(markers, func(m string) bool { return strings.Contains(r.Body, m) }) {
						t.Errorf("an end of an answer before the error:\n%s", r.Body)
					}
				})
			}
		}
	}
}
