package tools_test

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"weir/internal/account"
	"weir/internal/e2e/harness"
)

// TestSpanOfCallJoinsTraceOfMeta checks that a call is a span of the trace that the client names in _meta, and that the
// server gets the context of this span there.
func TestSpanOfCallJoinsTraceOfMeta(t *testing.T) {
	t.Parallel()
	const trace = "0af7651916cd43dd8448eb211c80319c"
	var received atomic.Value
	received.Store("")
	p := newPeer(t, true)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if strings.Contains(string(text), `"tools/call"`) {
			received.Store(string(text))
		}
		r.Body = io.NopCloser(strings.NewReader(string(text)))
		p.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	to := harness.NewCollector(t)
	yaml := strings.Replace(p.yaml("    trace_context: true\ntelemetry: {otlp: \""+to.URL+"\"}\n"), p.URL, front.URL, 1)
	h := harness.Open(t, harness.Setup{YAML: yaml})
	r := h.Do(harness.Ask{
		Path: "/mcp", Key: toolKey(h, account.KeyOptions{}),
		Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"peer__sum","arguments":{"a":-1,"b":1},` +
			`"_meta":{"traceparent":"00-` + trace + `-b7ad6b7169203331-01"}}}`,
	})
	if r.Status != http.StatusOK || !strings.Contains(r.Body, `"isError":true`) {
		t.Fatalf("call: got %d %s, want a result of a failed tool", r.Status, r.Body)
	}
	var span string
	harness.Await(t, "the span of the call", func() bool {
		spans, _, _ := to.Received()
		for _, s := range spans {
			if s.Name != "tools/call sum" {
				continue
			}
			span = hex.EncodeToString(s.SpanId)
			about := harness.AttributesOf(s.Attributes)
			if hex.EncodeToString(s.TraceId) != trace || about["gen_ai.operation.name"] != "execute_tool" ||
				about["mcp.method.name"] != "tools/call" || about["error.type"] != "tool_error" ||
				about["gen_ai.usage.input_tokens"] != "" {
				t.Errorf("span: got %x with %v, want one of the client's trace, with a failed tool", s.TraceId, about)
			}
			return true
		}
		return false
	})
	if want := "00-" + trace + "-" + span + "-01"; !strings.Contains(received.Load().(string), want) {
		t.Errorf("the server got %s, want the context %s", received.Load(), want)
	}
}
