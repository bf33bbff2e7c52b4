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
	"weir/internal/rawjson"
)

// compacter opens a gateway with a provider of the Responses API, which records its requests for compactions, by path
// and body.
func compacter(t *testing.T) (h *harness.Gateway, asked chan [2]string) {
	t.Helper()
	asked = make(chan [2]string, 10)
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		const usage = `"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":0},"output_tokens":50,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":150}`
		if !strings.HasSuffix(r.URL.Path, "/compact") {
			_, _ = io.WriteString(w, `{"id":"resp_1","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"msg_1","role":"assistant",`+
				`"status":"completed","content":[{"type":"output_text","text":"Yes","annotations":[]}]}],`+usage+`}`)
			return
		}
		asked <- [2]string{r.URL.Path, string(body)}
		_, _ = io.WriteString(w, `{"id":"resp_c1","object":"response.compaction","created_at":1764967971,"output":[`+
			`{"id":"msg_0","type":"message","status":"completed","role":"user","content":[{"type":"input_text","text":"Hi"}]},`+
			`{"id":"cmp_1","type":"compaction","encrypted_content":"gAAA"}],`+usage+`}`)
	}))
	t.Cleanup(ts.Close)
	h = harness.Open(t, harness.Setup{
		YAML: "providers:" + harness.SpokenBy("house", "responses", ts.URL, "/v1") + harness.ProviderYAML("other", ts.URL) + `
models:
  house/m: {context: 10000, max_output: 1000}
prices:
  house/m: {input: "1", output: "2"}
`,
	})
	return h, asked
}

const compactPath = "/v1/responses/compact"

// TestCompactionIsMetered checks that a provider of the Responses API compacts a conversation as the client requests
// it, also from a stored one, and that the compaction is metered.
func TestCompactionIsMetered(t *testing.T) {
	t.Parallel()
	h, asked := compacter(t)
	const items = `[{"role":"user","content":"Hi"},{"type":"compaction","encrypted_content":"old"}]`
	r := h.Do(harness.Ask{Path: compactPath, Body: `{"model":"house/m","instructions":"Be brief.","input":` + items + `,"tools":[],"parallel_tool_calls":true}`})
	want := [2]string{compactPath, `{"model":"m","instructions":"Be brief.","input":` + items + `,"tools":[],"parallel_tool_calls":true}`}
	if r.Status != http.StatusOK || !strings.Contains(r.Body, `"object":"response.compaction"`) || !strings.Contains(r.Body, `"cost":0.0002`) {
		t.Fatalf("got %d %s, want the compaction and its cost", r.Status, r.Body)
	}
	if got := <-asked; got != want {
		t.Errorf("the provider got %q, want %q", got, want)
	}
	if row := h.Row(r.Header.Get("X-Request-Id")); row.Outcome != "ok" || row.Provenance != "exact" || row.Cost != "0.0002" || row.In != 100 || row.Out != 50 {
		t.Errorf("the ledger has %+v", row)
	}

	kept := h.Respond(`"model":"house/m","input":"Really?"`)
	r = h.Do(harness.Ask{Path: compactPath, Body: `{"model":"house/m","previous_response_id":"` + rawjson.Text(rawjson.Get([]byte(kept.Body), "id")) + `"}`})
	if r.Status != http.StatusOK {
		t.Fatalf("from a stored response: %d %s", r.Status, r.Body)
	}
	got := <-asked
	for _, said := range []string{"Really?", `"Yes"`} {
		if !strings.Contains(got[1], said) || strings.Contains(got[1], "previous_response_id") || strings.Contains(got[1], "store") {
			t.Errorf("the provider got %s, want all of the conversation and no id", got[1])
		}
	}
	if r := h.Respond(`"model":"house/m","input":"And?","previous_response_id":"resp_c1"`); r.Status != http.StatusBadRequest && r.Status != http.StatusNotFound {
		t.Errorf("a request continues a compaction, which is not stored: %d %s", r.Status, r.Body)
	}
}

// TestCompactionRefused checks the errors for conversations that cannot be compacted, and that no provider is called
// then.
func TestCompactionRefused(t *testing.T) {
	t.Parallel()
	h, asked := compacter(t)
	uses := h.NewKey(account.KeyOptions{Account: account.DefaultName, Permissions: []account.Permission{account.Uses}})
	poor := h.NewKey(account.KeyOptions{Account: account.DefaultName, Budget: account.Budget{Limit: llm.USD / 1000, Period: budget.PeriodTotal}})
	rich := h.NewKey(account.KeyOptions{Account: account.DefaultName, Budget: account.Budget{Limit: llm.USD / 10, Period: budget.PeriodTotal}})
	for _, tt := range []struct {
		name, key, body string
		status          int
		says            string
	}{
		{"a provider that speaks otherwise", "", `{"model":"other/m","input":"Hi"}`, 400, "Request a summary"},
		{"a stream", "", `{"model":"house/m","input":"Hi","stream":true}`, 400, "stream"},
		{"a key without the permission", uses, `{"model":"house/m","input":"Hi"}`, 403, "permission"},
		{"a budget without room for the window", poor, `{"model":"house/m","input":"Hi"}`, 429, "insufficient_quota"},
		{"a budget and a field that is not known", rich, `{"model":"house/m","input":"Hi","rounds":7}`, 400, "rounds"},
		{"a budget with room", rich, `{"model":"house/m","input":"Hi"}`, 200, "response.compaction"},
	} {
		r := h.Do(harness.Ask{Path: compactPath, Key: tt.key, Body: tt.body})
		if r.Status != tt.status || !strings.Contains(r.Body, tt.says) || rawjson.Get([]byte(r.Body), "error", "type") == nil && r.Status != 200 {
			t.Errorf("%s: got %d %s, want %d and %q in OpenAI's shape", tt.name, r.Status, r.Body, tt.status, tt.says)
		}
	}
	if len(asked) != 1 {
		t.Errorf("the provider got %d requests, want one", len(asked))
	}
}

// TestConversationsAreNotServed checks that OpenAI's clients receive an error in its format that names the alternative
// to conversations.
func TestConversationsAreNotServed(t *testing.T) {
	t.Parallel()
	h, _ := compacter(t)
	for _, tt := range []struct{ method, path, body string }{
		{"POST", "/v1/conversations", `{"items":[]}`},
		{"GET", "/v1/conversations/conv_1", ""},
		{"DELETE", "/v1/conversations/conv_1", ""},
		{"POST", "/v1/conversations/conv_1/items", `{"items":[]}`},
	} {
		r := h.Do(harness.Ask{Method: tt.method, Path: tt.path, Body: tt.body})
		if r.Status != http.StatusNotFound || !strings.Contains(r.Body, "previous_response_id") || rawjson.Get([]byte(r.Body), "error", "type") == nil {
			t.Errorf("%s %s: got %d %s, want 404 in OpenAI's shape that names previous_response_id", tt.method, tt.path, r.Status, r.Body)
		}
	}
}
