package chat_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
)

// TestFallbacksOfTheVendor sends Anthropic's own field, a word or a list of objects: it goes to Anthropic unless
// something forbids it, and is reported if it is dropped. A list of names is the gateway's.
func TestFallbacksOfTheVendor(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- string(body)
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/messages") {
			_, _ = io.WriteString(w, `{"id":"m","type":"message","role":"assistant","model":"x","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
	}))
	t.Cleanup(ts.Close)
	for _, wire := range []string{"anthropic", "openai"} {
		h := harness.Open(t, harness.Setup{YAML: harness.DialectYAML(wire, ts.URL+"/v1")})
		narrow := h.NewKey(account.KeyOptions{Account: "default", Label: "narrow", Models: []string{"house/x", "house/y"}})
		ask := func(path, fallbacks, key string) harness.Reply {
			return h.Do(harness.Ask{Path: path, Key: key, Body: `{"model":"house/x","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"fallbacks":` + fallbacks + `}`})
		}
		for _, tt := range []struct {
			fallbacks, key string
			passes         bool
		}{
			{`"default"`, "", true},
			{`[{"model":"y"}]`, "", true},
			{`["house/y"]`, "", false},
			{`[{"model":"y"}]`, narrow, true},
			{`[{"model":"z"}]`, narrow, false},
			{`"default"`, narrow, false},
		} {
			reply := ask("/v1/messages", tt.fallbacks, tt.key)
			if reply.Status != http.StatusOK {
				t.Errorf("%s, %s: %d %s", wire, tt.fallbacks, reply.Status, reply.Body)
				continue
			}
			sent, passes := <-got, tt.passes && wire == "anthropic"
			if strings.Contains(sent, `"fallbacks":`+tt.fallbacks) != passes {
				t.Errorf("%s, %s, key %q: the provider was sent %s, want the field %t", wire, tt.fallbacks, tt.key, sent, passes)
			}
			theirs := tt.fallbacks != `["house/y"]`
			if named := strings.Contains(reply.Header.Get("X-Weir-Dropped"), "fallbacks"); named == (passes || !theirs) {
				t.Errorf("%s, %s: X-Weir-Dropped %q", wire, tt.fallbacks, reply.Header.Get("X-Weir-Dropped"))
			}
		}
		if reply := ask("/v1/chat/completions", `"default"`, ""); reply.Status != http.StatusBadRequest {
			t.Errorf("%s: a word at another client API: %d", wire, reply.Status)
		}
		h.SetBudget(100*llm.USD, budget.PeriodMonth)
		if reply := ask("/v1/messages", `"default"`, ""); reply.Status != http.StatusOK || strings.Contains(<-got, "fallbacks") {
			t.Errorf("%s: under a budget: %d %s, or the provider was sent the field", wire, reply.Status, reply.Body)
		}
	}
}
