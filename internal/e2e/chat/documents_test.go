package chat_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"weir/internal/dialect/bedrock"
	"weir/internal/dialect/bedrock/bedrocktest"
	"weir/internal/e2e/harness"
	"weir/internal/rawjson"
)

// citing answers like Converse and Cohere, with a citation of the second document of a conversation. If unplaced is
// set, the citation has only the document's name, as at Converse for a while
// (https://github.com/aws/aws-sdk-js-v3/issues/7497, 2025-11-12).
func citing(t *testing.T, unplaced bool, seen func(body []byte)) string {
	t.Helper()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen(body)
		whole := func(s string) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, s)
		}
		citation := `{"title":"The sky","sourceContent":[{"text":"Blue 😀."}],"location":{"documentChar":{"documentIndex":1,"start":3,"end":10}}}`
		if unplaced {
			citation = `{"title":"The sky","sourceContent":[{"text":"Blue 😀."}],"location":{"web":{}}}`
		}
		switch {
		case strings.HasSuffix(r.URL.Path, "/messages"):
			whole(`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"It is "},{"type":"text","text":"blue","citations":[{"type":"char_location",` +
				`"cited_text":"Blue 😀.","document_index":1,"document_title":"The sky.txt","start_char_index":3,"end_char_index":10,"file_id":null}]}],"stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":9}}`)
		case strings.HasSuffix(r.URL.Path, "/converse"):
			whole(`{"output":{"message":{"role":"assistant","content":[{"text":"It is "},{"citationsContent":{"content":[{"text":"blue"}],"citations":[` + citation + `]}}]}},` +
				`"stopReason":"end_turn","usage":{"inputTokens":7,"outputTokens":9,"totalTokens":16}}`)
		case strings.HasSuffix(r.URL.Path, "/converse-stream"):
			w.Header().Set("Content-Type", bedrock.ContentType)
			for _, e := range [][2]string{
				{"messageStart", `{"role":"assistant"}`},
				{"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"It is "}}`},
				{"contentBlockStop", `{"contentBlockIndex":0}`},
				{"contentBlockDelta", `{"contentBlockIndex":1,"delta":{"citation":` + citation + `}}`},
				{"contentBlockDelta", `{"contentBlockIndex":1,"delta":{"text":"blue"}}`},
				{"contentBlockStop", `{"contentBlockIndex":1}`},
				{"messageStop", `{"stopReason":"end_turn"}`},
				{"metadata", `{"usage":{"inputTokens":7,"outputTokens":9,"totalTokens":16}}`},
			} {
				_, _ = w.Write(bedrocktest.AppendFrame(nil, e[0], []byte(e[1])))
			}
		case string(rawjson.Get(body, "stream")) == "true":
			w.Header().Set("Content-Type", "text/event-stream")
			for _, e := range []string{
				`{"type":"message-start","id":"c","delta":{"message":{"role":"assistant"}}}`,
				`{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"text","text":""}}}}`,
				`{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"It is blue"}}}}`,
				`{"type":"citation-start","index":0,"delta":{"message":{"citations":` + citedByCohere + `}}}`, `{"type":"citation-end","index":0}`,
				`{"type":"content-end","index":0}`,
				`{"type":"message-end","delta":{"finish_reason":"COMPLETE","usage":{"billed_units":{"input_tokens":7,"output_tokens":9}}}}`,
			} {
				fmt.Fprintf(w, "data: %s\n\n", e)
			}
		default:
			whole(`{"id":"c","message":{"role":"assistant","content":[{"type":"text","text":"It is blue"}],"citations":[` + citedByCohere + `]},` +
				`"finish_reason":"COMPLETE","usage":{"billed_units":{"input_tokens":7,"output_tokens":9}}}`)
		}
	}))
	t.Cleanup(ts.Close)
	return ts.URL
}

const citedByCohere = `{"start":6,"end":10,"text":"blue","sources":[{"type":"document","id":"doc:1","document":{"id":"doc:1","title":"The sky.txt","text":"Is Blue 😀."}}],"type":"TEXT_CONTENT"}`

// twoDocuments is a conversation with a document in each turn of the user's.
const twoDocuments = `"max_tokens":99,"messages":[{"role":"user","content":[{"type":"document","title":"The grass","source":{"type":"text","media_type":"text/plain","data":"Green."},"citations":{"enabled":true}},` +
	`{"type":"text","text":"What color?"}]},{"role":"assistant","content":"Which?"},{"role":"user","content":[{"type":"document","title":"The sky.txt","context":"by Ann",` +
	`"source":{"type":"text","media_type":"text/plain","data":"Is Blue 😀."},"citations":{"enabled":true}},{"type":"text","text":"The sky."}]}]`

// TestDocumentsAreCited checks that a client of Messages receives citations of its own documents in an answer of
// Converse's or Cohere's, whole and streamed, and that a provider without citations receives the documents without the
// request for citations.
func TestDocumentsAreCited(t *testing.T) {
	t.Parallel()
	unseen := func([]byte) {}
	placed, unplaced := citing(t, false, unseen), citing(t, true, unseen)
	openai := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.SpokenBy("amazon", "bedrock", placed, "") + harness.SpokenBy("web", "bedrock", unplaced, "") +
		harness.SpokenBy("cohere", "cohere", placed, "/v2") + harness.ProviderYAML("plain", openai.URL)})
	const claude = "anthropic.claude-sonnet-4-5-20250929-v1:0"
	for _, tt := range []struct {
		name, model string
		told        []string
		dropped     string
	}{
		{"Converse", "amazon/" + claude, []string{`"type":"char_location"`, `"document_index":1`, `"document_title":"The sky.txt"`, `"cited_text":"Blue 😀."`, `"start_char_index":3,"end_char_index":10`, `"file_id":null`}, ""},
		{"Converse without places", "web/" + claude, []string{`"type":"char_location"`, `"document_index":1`, `"document_title":"The sky.txt"`, `"cited_text":"Blue 😀."`, `"file_id":"weir1.source"`}, ""},
		{"Cohere", "cohere/command-a-03-2025", []string{`"type":"char_location"`, `"document_index":1`, `"document_title":"The sky.txt"`, `"cited_text":"Is Blue 😀."`, `"start_char_index":0,"end_char_index":10`, `"file_id":null`}, ""},
		{"another model at Bedrock", "amazon/amazon.nova-pro-v1:0", nil, "citations"},
		{"Chat Completions", "plain/chat", nil, "citations"},
	} {
		for _, stream := range []string{"", `,"stream":true`} {
			t.Run(tt.name+stream, func(t *testing.T) {
				r := h.Do(harness.Ask{Path: "/v1/messages", Body: `{"model":"` + tt.model + `",` + twoDocuments + stream + `}`})
				if r.Status != http.StatusOK {
					t.Fatalf("%d %s", r.Status, r.Body)
				}
				for _, s := range tt.told {
					if !strings.Contains(r.Body, s) {
						t.Errorf("no %s in %s", s, r.Body)
					}
				}
				if got := r.Header.Get("X-Weir-Dropped"); got != tt.dropped {
					t.Errorf("X-Weir-Dropped: %q, want %q", got, tt.dropped)
				}
			})
		}
	}
}

// TestDocumentsMoveBetweenVendors checks that a conversation of ten messages with documents moves between the three
// vendors that cite them: each answer cites, each vendor receives the earlier citations in its own form and no mark,
// and the ledger adds up.
func TestDocumentsMoveBetweenVendors(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var sent string
	url := citing(t, false, func(body []byte) {
		mu.Lock()
		sent = string(body)
		mu.Unlock()
	})
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.SpokenBy("amazon", "bedrock", url, "") + harness.SpokenBy("cohere", "cohere", url, "/v2") + harness.SpokenBy("anthropic", "anthropic", url, "/v1")})
	history := strings.TrimSuffix(twoDocuments, "]")
	for turn := range 10 {
		to := []struct{ model, citation string }{
			{"amazon/anthropic.claude-sonnet-4-5-20250929-v1:0", `"citationsContent":{"content":[{"text":"blue"}]`},
			{"cohere/command-a-03-2025", `"sources":[{"type":"document","id":"doc:1"`},
			{"anthropic/claude-sonnet-4-5", `"type":"char_location"`},
		}[turn%3]
		r := h.Do(harness.Ask{Path: "/v1/messages", Body: `{"model":"` + to.model + `",` + history + `]}`})
		if r.Status != http.StatusOK || !strings.Contains(r.Body, `"document_index":1`) || r.Header.Get("X-Weir-Dropped") != "" {
			t.Fatalf("turn %d to %s: %d, without %q: %s", turn, to.model, r.Status, r.Header.Get("X-Weir-Dropped"), r.Body)
		}
		mu.Lock()
		if got := strings.Count(sent, to.citation); got != turn || strings.Contains(sent, "weir1") {
			t.Errorf("turn %d: %s gets %d earlier citations, want %d, and no marks: %s", turn, to.model, got, turn, sent)
		}
		mu.Unlock()
		history += `,{"role":"assistant","content":` + string(rawjson.Get([]byte(r.Body), "content")) + `},{"role":"user","content":"Again?"}`
	}
	h.Verify(t)
}
