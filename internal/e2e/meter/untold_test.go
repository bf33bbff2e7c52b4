package meter_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// untoldCase is a request that may have its provider run tools, and the reply to it.
type untoldCase struct {
	name, api, request, reply string // request: members in addition to the model and "Hi"; reply: members in addition to the usage
	untold                    llm.Class
	marked                    bool
	refused                   bool // under a budget, at any cost
}

func untoldCases() []untoldCase {
	const (
		chat, responses, messages, gemini = "/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1beta/models/gemini/m:generateContent"
		searched                          = `{"type":"web_search_call","id":"a","status":"completed","action":{"type":"search","query":"q"}},`
	)
	other, none := llm.OtherTools, llm.Class(0)
	return []untoldCase{
		{"no tools", chat, ``, ``, none, false, false},
		{"a function", chat, `"tools":[{"type":"function","function":{"name":"f"}}]`, ``, none, false, false},
		{"a tool of the client's", chat, `"tools":[{"type":"custom","custom":{"name":"f"}}]`, ``, none, false, false},
		{"a tool that nobody knows", chat, `"tools":[{"type":"deepseek_search"}]`, ``, other, true, false},
		{"the same behind a function", chat, `"tools":[{"type":"function","function":{"name":"f"}},{"type":"crystal_ball"}]`, ``, other, true, false},
		{"the same with escapes", chat, `"t\u006fols":[{"type":"crystal_ball"}]`, ``, other, true, false},
		{"a tool without a type", chat, `"tools":[{"crystal_ball":{}}]`, ``, other, true, false},
		{"a tool that is a word", chat, `"tools":["crystal_ball"]`, ``, other, true, false},
		{"a tool of two types", chat, `"tools":[{"type":"function","function":{"name":"f"},"type":"crystal_ball"}]`, ``, other, true, true},
		{"a tool beside a type", chat, `"type":"mcp_list_tools","tools":[{"type":"crystal_ball"}]`, ``, other, true, false},
		{"a tool that nobody knows, and is counted", chat, `"tools":[{"type":"crystal_ball"}]`, `,"server_tool_use":{"crystal_ball_requests":2}`, other, false, false},
		{"a tool that nobody knows of a provider that tells its own cost", chat, `"tools":[{"type":"crystal_ball"}]`, `,"cost":0.0002`, other, false, false},
		{"a search that is not counted", chat, `"tools":[{"type":"web_search"}]`, ``, llm.Searches, true, false},
		{"a search that is counted", chat, `"tools":[{"type":"web_search"}]`, `,"server_tool_use":{"web_search_requests":1}`, llm.Searches, false, false},
		{"a browser, whose calls a reply lists", chat, `"tools":[{"type":"browser_search"}]`, ``, none, false, false},
		{"a search by a field", chat, `"enable_search":true`, ``, llm.Searches, true, false},
		{"a search that is switched off", chat, `"enable_search":false`, ``, none, false, false},
		{"tools by a new field", chat, `"more_tools":[{"type":"crystal_ball"}]`, ``, other, true, false},
		{"tools in a message", chat, `"messages":[{"role":"user","content":"Hi","tools":[{"type":"crystal_ball"}]}]`, ``, other, true, false},
		{"words about tools", chat, `"messages":[{"role":"user","content":"my \"tools\": web_search"}]`, ``, none, false, false},

		{"a search without a call", responses, `"tools":[{"type":"web_search"}]`, ``, none, false, false},
		{"a tool that nobody knows", responses, `"tools":[{"type":"crystal_ball"}]`, ``, other, true, false},
		{"a tool that nobody knows, and is told", responses, `"tools":[{"type":"crystal_ball"}]`, `{"type":"crystal_ball_call","id":"b","status":"completed"},`, other, false, false},
		{"a tool that nobody knows, beside a search", responses, `"tools":[{"type":"web_search"},{"type":"crystal_ball"}]`, searched, other, true, false},
		{"functions in a namespace", responses, `"tools":[{"type":"namespace","name":"n","description":"d","tools":[{"type":"function","name":"f"},{"type":"custom","name":"g"}]},{"type":"tool_search"}]`, ``, none, false, false},
		{"a tool that nobody knows in a namespace", responses, `"tools":[{"type":"namespace","name":"n","description":"d","tools":[{"type":"crystal_ball"}]}]`, ``, other, true, false},
		{"a shell of the client's", responses, `"tools":[{"type":"shell","environment":{"type":"local"}}]`, ``, none, false, false},
		{"a hosted shell", responses, `"tools":[{"type":"shell","environment":{"type":"container_auto"}}]`, `{"type":"shell_call","id":"b","call_id":"c","status":"completed","action":{"commands":["ls"]}},`, other, true, false},
		{"tools among the items", responses, `"input":[{"type":"additional_tools","role":"developer","tools":[{"type":"crystal_ball"}]},{"role":"user","content":"Hi"}]`, ``, other, true, false},
		{"what a server has told", responses, `"input":[{"type":"mcp_list_tools","id":"l","server_label":"s","tools":[{"name":"f","input_schema":{}}]},{"role":"user","content":"Hi"}]`, ``, none, false, false},
		{"functions among the items", responses, `"input":[{"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"f"}]},{"role":"user","content":"Hi"}]`, ``, none, false, false},

		{"a file for code that is not run", messages, `"tools":[{"type":"code_execution_20250825","name":"code_execution"}],"messages":[{"role":"user","content":[{"type":"container_upload","file_id":"f"},{"type":"text","text":"Hi"}]}]`, ``, llm.CodeSessions, true, false},
		{"code that is not run", messages, `"tools":[{"type":"code_execution_20250825","name":"code_execution"}]`, ``, none, false, false},
		{"a search without a call", messages, `"tools":[{"type":"web_search_20250305","name":"web_search"}]`, ``, none, false, false},
		{"a tool that nobody knows", messages, `"tools":[{"type":"crystal_ball_20270101","name":"ball"}]`, ``, other, true, false},
		{"an advisor", messages, `"tools":[{"type":"advisor_20260301","name":"advisor","model":"m"}]`, ``, none, false, false},
		{"a tool of the client's", messages, `"tools":[{"type":"bash_20250124","name":"bash"}]`, ``, none, false, false},

		{"a search without a call", gemini, `"tools":[{"google_search":{}}]`, ``, none, false, false},
		{"a tool that nobody knows", gemini, `"tools":[{"crystalBall":{}}]`, ``, other, true, false},
		{"code", gemini, `"tools":[{"code_execution":{}},{"functionDeclarations":[{"name":"f"}]}]`, ``, none, false, false},
		{"files", gemini, `"tools":[{"fileSearch":{"fileSearchStoreNames":["fileSearchStores/a"]}}]`, ``, none, false, false},
	}
}

// body returns the whole request.
func (c *untoldCase) body(stream bool) string {
	members := strings.Trim(c.request+fmt.Sprintf(`,"stream":%t`, stream), ",")
	switch {
	case strings.Contains(c.api, "gemini"):
		return `{` + strings.Trim(c.request+`,"contents":[{"role":"user","parts":[{"text":"Hi"}]}]`, ",") + `}`
	case strings.HasSuffix(c.api, "responses") && !strings.Contains(c.request, `"input"`):
		members += `,"input":"Hi"`
	case strings.HasSuffix(c.api, "messages"):
		members += `,"max_tokens":99`
	}
	if !strings.HasSuffix(c.api, "responses") && !strings.Contains(c.request, `"messages"`) {
		members += `,"messages":[{"role":"user","content":"Hi"}]`
	}
	model := map[string]string{"/v1/responses": "responses/m", "/v1/messages": "anthropic/m"}[c.api]
	if model == "" {
		model = "house/m"
	}
	return `{"model":"` + model + `",` + members + `}`
}

// answer writes the provider's reply, of 30 tokens in and 10 out.
func (c *untoldCase) answer(w http.ResponseWriter, stream bool) {
	reply := ""
	switch {
	case strings.Contains(c.api, "gemini"):
		reply = `{"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":30,"candidatesTokenCount":10,"totalTokenCount":40},"modelVersion":"m"}`
	case strings.HasSuffix(c.api, "responses"):
		reply = `{"id":"r","object":"response","created_at":1,"status":"completed","model":"m","output":[` + c.reply +
			`{"type":"message","id":"m","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"text":"Hi"}]}],"usage":{"input_tokens":30,"output_tokens":10,"total_tokens":40}}`
		if stream {
			reply = "data: {\"type\":\"response.completed\",\"response\":" + reply + "}\n\n"
		}
	case strings.HasSuffix(c.api, "messages"):
		reply = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":30,"output_tokens":10}}`
		if stream {
			reply = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"model\":\"m\",\"usage\":{\"input_tokens\":30,\"output_tokens\":1}}}\n\n" +
				"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"Hi\"}}\n\n" +
				"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":10}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
		}
	default:
		usage := `{"prompt_tokens":30,"completion_tokens":10,"total_tokens":40` + c.reply + `}`
		reply = `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":` + usage + `}`
		if stream {
			reply = "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: {\"id\":\"1\",\"choices\":[],\"usage\":" + usage + "}\n\ndata: [DONE]\n\n"
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if stream {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	_, _ = io.WriteString(w, reply)
}

// TestUnreportedToolsAreMarked checks the mark of an answer whose provider may have run unreported tools: without a
// price it is unpriced in their class, otherwise it may have cost ten calls more. Under a budget it is refused, or
// bounded.
func TestUnreportedToolsAreMarked(t *testing.T) {
	t.Parallel()
	for _, tools := range []string{"", `, search: "0.01", other_tool: "0.01", code_interpreter: "0.01", file_search: "0.01"`} {
		t.Run("tools"+tools, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Pointer[untoldCase]
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				asked.Load().answer(w, strings.Contains(string(body), `"stream":true`))
			}))
			t.Cleanup(up.Close)
			yaml, prices := "providers:", "prices:\n"
			for name, dialect := range map[string]string{"house": "openai", "responses": "responses", "anthropic": "anthropic", "gemini": "gemini"} {
				yaml += strings.Replace(harness.ProviderYAML(name, up.URL), "dialect: openai", "dialect: "+dialect, 1)
				prices += "  " + name + `/*: {input: "3", output: "11"` + tools + "}\n"
			}
			h := harness.Open(t, harness.Setup{YAML: yaml + prices})
			var marked []untoldCase
			for _, c := range untoldCases() {
				asked.Store(&c)
				if c.hold(t, h, false, tools != ""); c.marked {
					marked = append(marked, c)
				}
				if !strings.Contains(c.api, "gemini") {
					c.hold(t, h, true, tools != "")
				}
			}
			h.SetBudget(1_000_000*llm.USD, budget.PeriodTotal)
			for _, c := range marked {
				asked.Store(&c)
				if r := h.Do(harness.Ask{Path: c.api, Body: c.body(false)}); (r.Status == http.StatusOK) != (tools != "" && !c.refused) {
					t.Errorf("%s, %s: under a budget the status is %d\n%s", c.api, c.name, r.Status, r.Body)
				}
			}
		})
	}
}

// hold sends a request, and compares the row with the case.
func (c *untoldCase) hold(t *testing.T, h *harness.Gateway, stream, priced bool) {
	t.Helper()
	r := h.Do(harness.Ask{Path: c.api, Body: c.body(stream)})
	if r.Status != http.StatusOK {
		t.Errorf("%s, %s: status %d: %s", c.api, c.name, r.Status, r.Body)
		return
	}
	e := h.Entry(t, r.Header.Get("X-Request-Id"))
	provenance, atMost := ledger.Exact, llm.Money(0)
	if c.marked {
		provenance = ledger.Estimated
	}
	if c.marked && priced {
		atMost = e.Cost + 10*llm.USD/100
	}
	without := c.untold.IsTool() && !priced && (c.marked || e.Usage[c.untold] > 0)
	if e.Provenance != provenance || priced && e.AtMost != atMost || e.Unpriced.Has(c.untold) != without {
		t.Errorf("%s, %s, stream %t: $%s, at most $%s, %s, without a price %v; want at most $%s, %s, %s without a price: %t\n%s", c.api, c.name,
			stream, e.Cost, e.AtMost, e.Provenance, e.Unpriced.Names(), atMost, provenance, c.untold, without, c.body(stream))
	}
}
