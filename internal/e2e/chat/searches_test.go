package chat_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/llm"
	"weir/internal/report"
)

// searcher is a provider of all wire formats whose models search the web for each answer.
type searcher struct {
	mu    sync.Mutex
	asked int
	sent  string // the last request
}

// page returns the source of an answer.
func page(answer int) string { return fmt.Sprintf("https://pages.example/%d", answer) }

func (s *searcher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.asked++
	s.sent = string(body)
	url := page(s.asked)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	const text = `Größer 😀 it is.`
	switch {
	case strings.HasSuffix(r.URL.Path, "/messages"):
		fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[`+
			`{"type":"server_tool_use","id":"srvtoolu_01AB","name":"web_search","input":{"query":"size"}},`+
			`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_01AB","content":[{"type":"web_search_result","url":%[1]q,"title":"P","encrypted_content":"E"}]},`+
			`{"type":"text","text":"Größer","citations":[{"type":"web_search_result_location","url":%[1]q,"title":"P","cited_text":"q","encrypted_index":"I"}]},{"type":"text","text":" 😀 it is."}],`+
			`"stop_reason":"end_turn","usage":{"input_tokens":100,"output_tokens":30,"server_tool_use":{"web_search_requests":1}}}`, url)
	case strings.HasSuffix(r.URL.Path, "/responses"):
		fmt.Fprintf(w, `{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"m","output":[`+
			`{"type":"web_search_call","id":"ws_68a1","status":"completed","action":{"type":"search","query":"size","sources":[{"type":"url","url":%[1]q}]}},`+
			`{"type":"message","id":"msg_68a1","status":"completed","role":"assistant","content":[{"type":"output_text","text":%[2]q,`+
			`"annotations":[{"type":"url_citation","start_index":0,"end_index":6,"url":%[1]q,"title":"P"}]}]}],"usage":{"input_tokens":100,"output_tokens":30,"total_tokens":130}}`, url, text)
	case strings.HasSuffix(r.URL.Path, ":generateContent"):
		fmt.Fprintf(w, `{"candidates":[{"content":{"role":"model","parts":[{"text":%[2]q}]},"finishReason":"STOP","groundingMetadata":{"webSearchQueries":["size"],`+
			`"groundingChunks":[{"web":{"uri":%[1]q,"title":"P"}}],"groundingSupports":[{"segment":{"startIndex":0,"endIndex":8},"groundingChunkIndices":[0]}]}}],`+
			`"modelVersion":"gemini-3.8-flash","usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":30,"totalTokenCount":130}}`, url, text)
	default:
		fmt.Fprintf(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","search_results":[{"title":"P","url":%[1]q}],"citations":[%[1]q],`+
			`"choices":[{"index":0,"message":{"role":"assistant","content":"Größer[1] it is.","annotations":[{"type":"url_citation","url_citation":{"start_index":0,"end_index":6,"url":%[1]q,"title":"P"}}]},`+
			`"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":30,"total_tokens":130,"num_search_queries":1,"cost":{"total_cost":0.006}}}`, url)
	}
}

// searchClient describes a client API whose conversations have searches.
type searchClient struct {
	path, body string                                        // with MODEL and HISTORY
	said       string                                        // the user's message, with %q
	answer     func(reply json.RawMessage) []json.RawMessage // the parts of a reply that its SDKs send back
}

func searchClients() map[string]searchClient {
	return map[string]searchClient{
		"chat": {
			"/v1/chat/completions", `{"model":"MODEL","messages":[HISTORY],"web_search_options":{},"max_tokens":500}`, `{"role":"user","content":%q}`,
			func(reply json.RawMessage) []json.RawMessage {
				var r struct {
					Choices []struct{ Message json.RawMessage }
				}
				_ = json.Unmarshal(reply, &r)
				return []json.RawMessage{r.Choices[0].Message}
			},
		},
		"responses": {
			"/v1/responses", `{"model":"MODEL","input":[HISTORY],"tools":[{"type":"web_search"}],"max_output_tokens":500,"store":false}`, `{"role":"user","content":%q}`,
			func(reply json.RawMessage) []json.RawMessage {
				var r struct{ Output []json.RawMessage }
				_ = json.Unmarshal(reply, &r)
				return r.Output
			},
		},
		"messages": {
			"/v1/messages", `{"model":"MODEL","messages":[HISTORY],"tools":[{"type":"web_search_20250305","name":"web_search"}],"max_tokens":500}`, `{"role":"user","content":%q}`,
			func(reply json.RawMessage) []json.RawMessage {
				var r struct{ Content json.RawMessage }
				_ = json.Unmarshal(reply, &r)
				return []json.RawMessage{json.RawMessage(`{"role":"assistant","content":` + string(r.Content) + `}`)}
			},
		},
		"generateContent": {
			"/v1beta/models/MODEL:generateContent", `{"contents":[HISTORY],"tools":[{"googleSearch":{}}],"generationConfig":{"maxOutputTokens":500}}`, `{"role":"user","parts":[{"text":%q}]}`,
			func(reply json.RawMessage) []json.RawMessage {
				var r struct {
					Candidates []struct{ Content json.RawMessage }
				}
				_ = json.Unmarshal(reply, &r)
				return []json.RawMessage{r.Candidates[0].Content}
			},
		},
	}
}

// TestSearchesMoveBetweenVendors checks that a conversation with a search in each answer moves over four vendors: each
// answer names its source, no vendor receives the search data of another, and the ledger has each search.
func TestSearchesMoveBetweenVendors(t *testing.T) {
	t.Parallel()
	for name, client := range searchClients() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := &searcher{}
			server := httptest.NewServer(up)
			defer server.Close()
			yaml := "providers:"
			for _, p := range []struct{ name, wire string }{{"openai", "openai\n    also: [responses]"}, {"anthropic", "anthropic"}, {"gemini", "gemini"}, {"perplexity", "openai"}} {
				yaml += strings.Replace(harness.ProviderYAML(p.name, server.URL), "dialect: openai", "dialect: "+p.wire, 1)
			}
			yaml = strings.Replace(yaml, "dialect: gemini\n    base_url: "+server.URL+"/v1\n", "dialect: gemini\n    base_url: "+server.URL+"/v1beta\n", 1)
			h := harness.Open(t, harness.Setup{YAML: yaml})
			var history []string
			models := []string{"openai/gpt-6.1-sol", "anthropic/claude-haiku-4-5", "gemini/gemini-3.8-flash", "perplexity/sonar-pro"}
			for turn := range 10 {
				model := models[turn%len(models)]
				history = append(history, fmt.Sprintf(client.said, fmt.Sprint("What is it like, ", turn)))
				body := strings.Replace(client.body, "HISTORY", strings.Join(history, ","), 1)
				r := h.Do(harness.Ask{Path: strings.Replace(client.path, "MODEL", model, 1), Body: strings.Replace(body, "MODEL", model, 1)})
				if r.Status != http.StatusOK {
					t.Fatalf("turn %d to %s: %d %s", turn, model, r.Status, r.Body)
				}
				if !strings.Contains(r.Body, page(turn+1)) {
					t.Errorf("turn %d to %s: no source in %s", turn, model, r.Body)
				}
				if strings.Contains(up.sent, "weir1") {
					t.Errorf("turn %d: %s gets a reference to another vendor's sources: %s", turn, model, up.sent)
				}
				for _, said := range client.answer(json.RawMessage(r.Body)) {
					history = append(history, string(said))
				}
			}
			searches, rows := int64(0), 0
			harness.Await(t, "all rows", func() bool {
				searches, rows = 0, 0
				h.EachEntry(func(e *report.Exported) {
					rows++
					searches += e.Usage[llm.Searches]
				})
				return rows == 10
			})
			if searches < 8 { // Perplexity's fee is for the request
				t.Errorf("%d rows have %d searches", rows, searches)
			}
			h.Verify(t)
		})
	}
}
