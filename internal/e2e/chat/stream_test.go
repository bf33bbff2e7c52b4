package chat_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/e2e/harness"
	"weir/internal/gateway"
)

// TestStreamToTheLetter compares a streamed answer, byte for byte.
func TestStreamToTheLetter(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	r := h.Stream("house/echo")
	if r.Status != http.StatusOK {
		t.Fatalf("status %d: %s", r.Status, r.Body)
	}
	events, _ := harness.SplitStream(t, r.Body)
	head := fmt.Sprintf(`data: {"id":"%s","created":%d,"model":"house/echo","responsetype":"stream","choices":[{"index":0,"delta":{`,
		r.Header.Get("X-Request-Id"), events[0].Created)
	want := head + `"role":"assistant","content":"Say"},"finish_reason":null}]}` + "\n\n" +
		head + `"content":" it"},"finish_reason":null}]}` + "\n\n" +
		head + `"content":" again,"},"finish_reason":null}]}` + "\n\n" +
		head + `"content":" please"},"finish_reason":null}]}` + "\n\n" +
		head + `},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":4,"total_tokens":16,"cost":0.0000042}}` + "\n\n" +
		"data: [DONE]\n\n"
	if r.Body != want {
		t.Errorf("got\n%s\nwant\n%s", r.Body, want)
	}
	harness.WantHeaders(t, r.Header, map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Weir-Model": "house/echo",
		"X-Weir-Provider": "house", "X-Weir-Attempts": "1", "Content-Length": "",
	})
	harness.WantCommonHeaders(t, r.Header)
	got := h.Row(r.Header.Get("X-Request-Id"))
	got.Price = ""
	if got != (harness.Row{Model: "house/echo", Outcome: "ok", Provenance: "exact", Cost: "0.0000042", In: 12, Out: 4, Counts: true, Stream: true, Status: 200}) {
		t.Errorf("the row is %+v", got)
	}
}

// TestAcceptAsksForStream checks which Accept headers request a stream.
func TestAcceptAsksForStream(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	for accept, streamed := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "text/*": false, "text/event-stream;q=0": false, "text/event-streams": false,
		"text/event-stream": true, "Text/Event-Stream; charset=utf-8": true, "application/json, text/event-stream": true, "text/event-stream;q=0.5": true,
	} {
		r := h.Chat("house/echo", "Accept", accept)
		if got := strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream"); got != streamed {
			t.Errorf("Accept %q: a stream %v, want %v", accept, got, streamed)
		}
	}
	for _, member := range []string{`"stream":true`, `"stream":false`, `"responsetype":"stream"`} {
		if r := h.Do(harness.Ask{Path: "/v1/chat", Body: user(member)}); r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %s, want JSON: only the Accept header requests a stream", member, r.Header.Get("Content-Type"))
		}
	}
}

// TestKeepAlive checks the comment in a silence, before the first piece and between pieces.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: harness.ProvidersYAML(up.URL), Timing: gateway.Timing{KeepAlive: 60 * time.Millisecond}})
	for model, silences := range map[string]int{"house/echo:ttft=400ms": 1, "house/echo:ttft=400ms,early": 1, "house/echo:pace=400ms": 3} {
		r := h.Stream(model)
		if n := strings.Count(r.Body, ": keep-alive\n\n"); n < silences || n > 30 { // a busy machine writes few
			t.Errorf("%s: %d keep-alives, want one to six in each of %d silences: %s", model, n, silences, r.Body)
		}
		if events, _ := harness.SplitStream(t, r.Body); harness.Text(events) != "Say it again, please" {
			t.Errorf("%s: text %q", model, harness.Text(events))
		}
	}
	body := `{"model":"house/echo:ttft=400ms","stream":true,"messages":[{"role":"user","content":"Hi"}]}`
	if r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: body}); !strings.HasPrefix(r.Body, ": keep-alive\n\n") {
		t.Errorf("no keep-alive in the vendor API: %s", r.Body)
	}
	const piece = `data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"index":0}]}` + "\n\n"
	path := "/v1beta/models/house/echo:ttft=400ms:streamGenerateContent?alt=sse"
	if r := h.Do(harness.Ask{Path: path, Body: `{"contents":[{"parts":[{"text":"Hi"}]}]}`}); !strings.HasPrefix(r.Body, piece) {
		t.Errorf("no piece without words that Google's SDKs bear: %s", r.Body)
	}
	r := h.Stream("house/chat:ttft=400ms,status=500")
	if _, e := harness.SplitStream(t, r.Body); r.Status != http.StatusOK || e == nil || e.Code != "PROVIDER_ERROR" || e.RequestID != r.Header.Get("X-Request-Id") {
		t.Errorf("a failure after a keep-alive: %d %+v, want PROVIDER_ERROR in the stream: %s", r.Status, e, r.Body)
	}
}

// TestStreamFailures breaks answers off after their first piece: the client keeps the pieces, the error is in the
// stream, no end marker follows, and the row is settled at the counted usage.
func TestStreamFailures(t *testing.T) {
	t.Parallel()
	h := harness.OpenHasty(t)
	tests := []struct{ model, code string }{
		{"house/chat:fault=cut,at=5", "PROVIDER_ERROR"},
		{"house/chat:fault=cut-reset,at=5", "PROVIDER_ERROR"},
		{"house/chat:fault=half-close,at=5", "PROVIDER_ERROR"},
		{"house/chat:fault=eof,at=5", "PROVIDER_ERROR"},
		{"house/chat:fault=malformed,at=5", "PROVIDER_ERROR"},
		{"house/chat:fault=error-event,at=5", "PROVIDER_ERROR"},
		{"hasty/chat:fault=stall,at=5", "PROVIDER_TIMEOUT"},
		{"house/chat:fault=invalid-utf8,at=5", "PROVIDER_ERROR"},
	}
	for _, test := range tests {
		t.Run(test.model, func(t *testing.T) {
			t.Parallel()
			r := h.Stream(test.model)
			events, e := harness.SplitStream(t, r.Body)
			if r.Status != http.StatusOK || e == nil || e.Code != test.code {
				t.Fatalf("status %d, error %+v: want 200 and %s in the stream: %s", r.Status, e, test.code, r.Body)
			}
			if e.RequestID != r.Header.Get("X-Request-Id") {
				t.Errorf("request_id %q, want %q", e.RequestID, r.Header.Get("X-Request-Id"))
			}
			if len(events) != 5 || events[4].Usage != nil {
				t.Errorf("%d events, want the 5 received pieces, without usage: %s", len(events), r.Body)
			}
			row := h.Row(e.RequestID)
			if row.Outcome != "cut" || row.Provenance != "estimated" || row.In == 0 || row.Out == 0 || !row.Counts {
				t.Errorf("the row is %+v, want a cut, estimated at the input and some output", row)
			}
		})
	}
}

// TestStreamsOddButWhole checks that an answer in an odd form is complete.
func TestStreamsOddButWhole(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	for _, options := range []string{
		"fault=no-end", "fault=not-stream", "fault=continue", "fault=early-hints", "eol=crlf", "eol=cr", "eol=mixed",
		"chunk=1", "comments", "bom", "usage=twice", "chunk=3,eol=crlf,comments,bom",
	} {
		r := h.Stream("house/echo:" + options)
		events, e := harness.SplitStream(t, r.Body)
		if e != nil || harness.Text(events) != "Say it again, please" {
			t.Errorf("%s: %q, error %+v", options, harness.Text(events), e)
			continue
		}
		if u := events[len(events)-1].Usage; u == nil || u.Tokens != (harness.Tokens{Prompt: 12, Completion: 4, Total: 16}) {
			t.Errorf("%s: usage %+v, want 12 and 4", options, u)
		}
	}
}

// TestLargeEvents checks that events larger than the retained buffers arrive whole and in order, unchanged and
// translated, between small ones that arrive together with them.
func TestLargeEvents(t *testing.T) {
	t.Parallel()
	var sent strings.Builder
	var stream bytes.Buffer
	for i := range 12 {
		text := strings.Repeat(string(rune('a'+i)), []int{3, 700 << 10, 40}[i%3])
		sent.WriteString(text)
		fmt.Fprintf(&stream, `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":null}]}`+"\n\n", text)
	}
	stream.WriteString(`data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}` + "\n\ndata: [DONE]\n\n")
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(stream.Bytes())
	}))
	defer ts.Close()
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", ts.URL)})
	for path, before := range map[string]string{"/v1/chat/completions": `"content":"`, "/v1/messages": `"text":"`} {
		r := h.Do(harness.Ask{Path: path, Body: `{"model":"house/m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"Hi"}]}`})
		var got strings.Builder
		for _, rest := range strings.Split(string(r.Body), before)[1:] {
			text, _, _ := strings.Cut(rest, `"`)
			got.WriteString(text)
		}
		if r.Status != http.StatusOK || got.String() != sent.String() || strings.Contains(string(r.Body), `"error"`) {
			t.Errorf("%s: status %d, %d bytes of text, want the %d that were sent", path, r.Status, got.Len(), sent.Len())
		}
	}
}
