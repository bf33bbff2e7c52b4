package meter_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// TestAddedMarksChangeNothingElse compares the body that a provider gets with its client's, in the same wire format:
// with added marks it has them, or the key, and is otherwise the same; a request with a mark of its own, a short one,
// and any request without the setting are forwarded as they are.
func TestAddedMarksChangeNothingElse(t *testing.T) {
	t.Parallel()
	bodies := make(chan []byte, 1)
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bodies <- must.Get(io.ReadAll(r.Body))(t)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"type":"invalid_request_error","message":"no"}}`)
	}))
	t.Cleanup(ts.Close)
	h := harness.Open(t, harness.Setup{YAML: configuration(ts.URL)})
	long := quoted(strings.Repeat("long ", 1000))
	const future = `"service_tier":"auto","future":{"a":[1,2.50,null],"b":"é"},`
	messages := func(mark string) string {
		return `{"model":"MODEL",` + future + `"max_tokens":9,"system":` + long + `,"messages":[{"role":"user","content":[{"type":"text","text":"Hi"` + mark + `,"future":1}],"name":"x"},` +
			`{"role":"assistant","content":[{"type":"future_block","x":[]},{"type":"text","text":"Ho"}]},{"role":"user","content":"And?"}]}`
	}
	chat := `{"model":"MODEL",` + future + `"messages":[{"role":"user","content":` + long + `,"future":1}]}`
	for _, c := range []struct {
		path, provider, body string
		marks, keys          int // that are added
	}{
		{"/v1/messages", "anthropic", messages(""), 3, 0},
		{"/v1/messages", "anthropic", messages(`,"cache_control":{"type":"ephemeral"}`), 0, 0},
		{"/v1/messages", "anthropic", strings.Replace(messages(""), long, `"short"`, 1), 0, 0},
		{"/v1/chat/completions", "openai", chat, 0, 1},
		{"/v1/chat/completions", "openai", strings.Replace(chat, future, future+`"prompt_cache_key":"mine",`, 1), 0, 0},
		{"/v1/responses", "openai", `{"model":"MODEL",` + future + `"input":` + long + `}`, 0, 1},
	} {
		for _, mode := range []string{"before", "after"} {
			h.Do(harness.Ask{Path: c.path, Body: strings.Replace(c.body, "MODEL", mode+"-"+c.provider, 1)})
			got := string(<-bodies)
			marks := strings.Count(got, "cache_control") - strings.Count(c.body, "cache_control")
			keys := strings.Count(got, `"prompt_cache_key":"weir-`)
			if wantMarks, wantKeys := c.marks, c.keys; mode == "after" && (marks != wantMarks || keys != wantKeys) || mode == "before" && marks+keys != 0 {
				t.Errorf("%s %s: %d marks and %d keys are added, want %d and %d: %s", c.path, mode, marks, keys, wantMarks, wantKeys, got)
			}
			if before, after := plain(t, c.body), plain(t, got); before != after {
				t.Errorf("%s %s: the provider gets\n%s\nwant\n%s", c.path, mode, after, before)
			}
		}
	}
}

// plain returns a request as JSON in one order, without its model and without added marks and keys. A text is the same
// as a list with one text.
func plain(t *testing.T, body string) string {
	t.Helper()
	var tree map[string]any
	must.Do(t, json.Unmarshal([]byte(body), &tree))
	delete(tree, "model")
	if key := fmt.Sprint(tree["prompt_cache_key"]); strings.HasPrefix(key, "weir-") {
		delete(tree, "prompt_cache_key")
	}
	return string(must.Get(json.Marshal(unmarked(tree)))(t))
}

func unmarked(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "cache_control")
		for name := range v {
			if text, is := v[name].(string); is && (name == "content" || name == "system" || name == "input") {
				v[name] = []any{map[string]any{"type": "text", "text": text}}
			}
			v[name] = unmarked(v[name])
		}
	case []any:
		for i := range v {
			v[i] = unmarked(v[i])
		}
	}
	return v
}
