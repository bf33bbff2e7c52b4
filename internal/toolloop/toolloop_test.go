package toolloop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/idempotency"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/toolloop"
)

// records stores the approvals that were used, as the database does.
type records struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (s *records) Begin(_ context.Context, c idempotency.Record, _ time.Duration) (idempotency.State, []byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[c.Scope+c.Key] {
		return idempotency.Spent, nil, nil
	}
	s.seen[c.Scope+c.Key] = true
	return idempotency.New, nil, nil
}

func (*records) Keep(context.Context, idempotency.Record, []byte) error { return nil }
func (*records) Forget(context.Context, idempotency.Record) error       { return nil }

// fixture is a loop with the server "files", and a model with scripted answers.
type fixture struct {
	t       *testing.T
	loop    *toolloop.Loop
	script  []string // answers, in turn; the last one again
	sent    []string // bodies that the model got
	ran     []string // calls of tools
	next    int
	failing error // of calls
	memory  int64 // that is reserved, and
	free    int64 // how much there is; 0 for no bound
	token   string
	dialect string
	result  string // of each call
}

const found = `{"content":[{"type":"text","text":"found it"}]}`

func newFixture(t *testing.T, script ...string) *fixture {
	f := &fixture{t: t, script: script, token: "wk_1", dialect: "responses", result: found}
	f.use(f.tools)
	return f
}

// use lets the loop use tools.
func (f *fixture) use(tools func(context.Context, *toolloop.Caller, string) ([]toolloop.Tool, error)) {
	f.loop = toolloop.New(toolloop.Options{Tools: tools, Once: &records{seen: map[string]bool{}}, Now: time.Now})
}

func (f *fixture) tools(_ context.Context, _ *toolloop.Caller, server string) ([]toolloop.Tool, error) {
	if server != "files" {
		return nil, llm.Errorf(llm.CodeInvalidRequest, "There is no MCP server %q.", server)
	}
	var all []toolloop.Tool
	for name, reads := range map[string]bool{"read": true, "erase/all": false} {
		all = append(all, toolloop.Tool{
			Name: name, Definition: fmt.Appendf(nil, `{"name":%q,"description":"d","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":%t}}`, name, reads),
			Call: func(_ context.Context, arguments []byte, n int) (*toolloop.Result, error) {
				f.ran = append(f.ran, fmt.Sprintf("%d %s %s", n, name, arguments))
				return &toolloop.Result{JSON: []byte(f.result), Charge: new(llm.Money(1_000_000))}, f.failing
			},
		})
	}
	return all, nil
}

func (f *fixture) reserve(n int64) error {
	if f.memory += n; f.free > 0 && f.memory > f.free {
		return llm.Errorf(llm.CodeOverloaded, "No memory is free.")
	}
	return nil
}

// send sends a request and returns the answer.
func (f *fixture) send(body string) (*httptest.ResponseRecorder, error) {
	f.t.Helper()
	w := httptest.NewRecorder()
	var parsed struct{ Stream bool }
	must.Do(f.t, json.Unmarshal([]byte(body), &parsed))
	rounds := 0
	return w, f.loop.Serve(f.t.Context(), w, &toolloop.Request{
		Caller: toolloop.Caller{
			Principal: account.NewPrincipal(&account.Account{ID: "acc"}, &account.Key{ID: "key"}), Token: f.token, Request: uuid.New(),
		},
		Dialect: f.dialect, Body: []byte(body), Stream: parsed.Stream, Reserve: f.reserve,
		Next: func() int { f.next++; return f.next },
		Ask: func(_ context.Context, body []byte) (*toolloop.Answer, error) {
			f.sent = append(f.sent, string(body))
			f.next++
			text := f.script[min(rounds, len(f.script)-1)]
			rounds++
			status := http.StatusOK
			if strings.HasPrefix(text, `{"error"`) {
				status = http.StatusPaymentRequired
			}
			return &toolloop.Answer{Status: status, Header: http.Header{"X-Weir-Cost-USD": {"0.002"}}, Body: []byte(text)}, nil
		},
	})
}

// want sends a request and returns the answer, decoded.
func (f *fixture) want(body string) map[string]any {
	f.t.Helper()
	w, err := f.send(body)
	if err != nil || w.Code != http.StatusOK {
		f.t.Fatalf("%s: got %d %s %v, want 200", body, w.Code, w.Body, err)
	}
	v := map[string]any{}
	must.Do(f.t, json.Unmarshal(w.Body.Bytes(), &v))
	return v
}

func kinds(answer map[string]any) (all []string) {
	for _, item := range answer["output"].([]any) {
		all = append(all, item.(map[string]any)["type"].(string))
	}
	return all
}

func itemOf(t *testing.T, answer map[string]any, kind string) map[string]any {
	t.Helper()
	for _, item := range answer["output"].([]any) {
		if v := item.(map[string]any); v["type"] == kind {
			return v
		}
	}
	t.Fatalf("got the items %v, want one of the type %s", kinds(answer), kind)
	return nil
}

const (
	never   = `"tools":[{"type":"mcp","server_label":"files","require_approval":"never"}]`
	always  = `"tools":[{"type":"mcp","server_label":"files"}]`
	calling = `{"id":"resp_1","object":"response","status":"completed","output":[{"type":"function_call","id":"fc_1","call_id":"call_1","name":"files__read","arguments":"{\"a\":1}"}],"usage":{"input_tokens":10,"output_tokens":2,"total_tokens":12,"input_tokens_details":{"cached_tokens":1},"cost":0.002}}`
	saying  = `{"id":"resp_2","object":"response","status":"completed","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Here.","annotations":[]}]}],"usage":{"input_tokens":20,"output_tokens":3,"total_tokens":23,"input_tokens_details":{"cached_tokens":2},"cost":0.002}}`
)

// TestLoopCallsToolAndAsksAgain checks the requests to the model, the items of the answer, and the sums.
func TestLoopCallsToolAndAsksAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, calling, saying)
	got := f.want(`{"model":"m","input":"Hi","store":true,` + never + `}`)
	must.Equal(t, kinds(got), []string{"mcp_list_tools", "mcp_call", "message"}, "items")
	call := itemOf(t, got, "mcp_call")
	if call["output"] != "found it" || call["name"] != "read" || call["server_label"] != "files" || call["status"] != "completed" {
		t.Errorf("got the call %v", call)
	}
	must.Equal(t, f.ran, []string{`2 read {"a":1}`}, "calls, as the second attempt")
	usage := must.Get(json.Marshal(got["usage"]))(t)
	const want = `{"cost":0.005,"input_tokens":30,"input_tokens_details":{"cached_tokens":3},"output_tokens":5,"total_tokens":35}`
	if string(usage) != want {
		t.Errorf("got the usage %s, want %s", usage, want)
	}
	if got["store"] != false {
		t.Errorf("got store %v, want false: the answer is not stored", got["store"])
	}
	for i, wants := range [][]string{
		{`"input":[{"content":"Hi","role":"user"}]`, `"name":"files__read"`, `"store":false`, `"model":"m"`},
		{`{"type":"function_call","call_id":"call_1","name":"files__read","arguments":"{\"a\":1}"}`, `{"type":"function_call_output","call_id":"call_1","output":"found it"}`},
	} {
		for _, want := range wants {
			if !strings.Contains(f.sent[i], want) || strings.Contains(f.sent[i], `"mcp"`) {
				t.Errorf("request %d: got %s, want %s", i, f.sent[i], want)
			}
		}
	}
}

// TestEarlierCallsAreRecalled checks that the items of an earlier answer reach the model as calls and results.
func TestEarlierCallsAreRecalled(t *testing.T) {
	t.Parallel()
	f := newFixture(t, saying)
	got := f.want(`{"model":"m","input":[{"type":"mcp_list_tools","id":"mcpl_1","server_label":"files","tools":[]},` +
		`{"type":"mcp_call","id":"mcp_1","server_label":"files","name":"read","arguments":"{}","output":"old"}],` + never + `}`)
	must.Equal(t, kinds(got), []string{"message"}, "items: the tools are listed once")
	if !strings.Contains(f.sent[0], `"input":[{"type":"function_call","call_id":"call_mcp_1","name":"files__read","arguments":"{}"},{"type":"function_call_output","call_id":"call_mcp_1","output":"old"}]`) {
		t.Errorf("got %s", f.sent[0])
	}
}

// TestApprovalHoldsForOneCall checks that a tool is called only after an approval, of this very call, once, and with the
// same API key.
func TestApprovalHoldsForOneCall(t *testing.T) {
	t.Parallel()
	f := newFixture(t, calling)
	asked := itemOf(t, f.want(`{"model":"m","input":"Hi",`+always+`}`), "mcp_approval_request")
	if len(f.ran) != 0 || len(f.sent) != 1 {
		t.Fatalf("got the calls %q after %d requests, want none before the approval", f.ran, len(f.sent))
	}
	f.script = []string{saying}
	answer := func(request map[string]any, id any, approve bool) string {
		return fmt.Sprintf(`{"model":"m","input":[%s,{"type":"mcp_approval_response","approval_request_id":%q,"approve":%t}],%s}`,
			must.Get(json.Marshal(request))(t), id, approve, always)
	}
	changed := func(name string, value any) map[string]any {
		v := map[string]any{name: value}
		for n, old := range asked {
			if n != name {
				v[n] = old
			}
		}
		return v
	}
	other := asked["id"].(string)
	other = other[:len(other)-1] + map[bool]string{true: "0", false: "1"}[other[len(other)-1] != '0']
	for _, test := range []struct {
		name, body, token string
	}{
		{"other arguments", answer(changed("arguments", `{"a":2}`), asked["id"], true), f.token},
		{"another tool", answer(changed("name", "erase/all"), asked["id"], true), f.token},
		{"another id", answer(changed("id", other), other, true), f.token},
		{"a made id", answer(changed("id", "mcpr_1"), "mcpr_1", true), f.token},
		{"another key", answer(asked, asked["id"], true), "wk_2"},
		{"no request", answer(changed("id", "mcpr_other"), asked["id"], true), f.token},
	} {
		f.token = test.token
		if w, err := f.send(test.body); err == nil || len(f.ran) != 0 {
			t.Errorf("%s: got %s and the calls %q, want an error and none", test.name, w.Body, f.ran)
		}
		f.token = "wk_1"
	}
	f.want(answer(asked, asked["id"], false))
	if last := f.sent[len(f.sent)-1]; len(f.ran) != 0 || !strings.Contains(last, "The user did not approve this call.") {
		t.Errorf("denied: got the calls %q and the request %s", f.ran, last)
	}
	got := f.want(answer(asked, asked["id"], true))
	if call := itemOf(t, got, "mcp_call"); call["approval_request_id"] != asked["id"] || len(f.ran) != 1 {
		t.Errorf("approved: got %v and the calls %q", call, f.ran)
	}
	if w, err := f.send(answer(asked, asked["id"], true)); err == nil || !strings.Contains(err.Error(), "used already") || len(f.ran) != 1 {
		t.Errorf("approved again: got %s %v and the calls %q, want an error and one call", w.Body, err, f.ran)
	}
}

// TestToolsAreSelected checks allowed_tools and require_approval in their forms.
func TestToolsAreSelected(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		server string
		offers bool // the tool read
		asks   bool // before it is called
	}{
		{`"require_approval":"always"`, true, true},
		{`"require_approval":"never","allowed_tools":["read"]`, true, false},
		{`"require_approval":"never","allowed_tools":["erase/all"]`, false, false},
		{`"require_approval":"never","allowed_tools":{"read_only":true}`, true, false},
		{`"require_approval":"never","allowed_tools":{"read_only":false}`, false, false},
		{`"require_approval":{"never":{"tool_names":["read"]}}`, true, false},
		{`"require_approval":{"never":{"tool_names":["erase/all"]}}`, true, true},
		{`"require_approval":{"always":{"tool_names":["read"]},"never":{"read_only":true}}`, true, true},
		{`"require_approval":{"never":{"read_only":true}}`, true, false},
	} {
		f := newFixture(t, calling, saying)
		got := f.want(`{"model":"m","input":"Hi","tools":[{"type":"mcp","server_label":"files",` + test.server + `}]}`)
		if offers := strings.Contains(f.sent[0], `"name":"files__read"`); offers != test.offers {
			t.Errorf("%s: got %s, want the tool: %t", test.server, f.sent[0], test.offers)
		}
		if asks := strings.Contains(fmt.Sprint(kinds(got)), "mcp_approval_request"); asks != test.asks || (len(f.ran) > 0) != (test.offers && !test.asks) {
			t.Errorf("%s: got the items %q and the calls %q", test.server, kinds(got), f.ran)
		}
	}
}

// TestServersOfClients checks that a server with an address is the provider's, and that no credentials are passed on.
func TestServersOfClients(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{` + always + `}`: true,
		`{"tools":[{"type":"mcp","server_label":"x","server_url":"https://example.com"}]}`:                                                 false,
		`{"tools":[{"type":"mcp","server_label":"x","connector_id":"connector_gmail"}]}`:                                                   false,
		`{"tools":[{"type":"mcp","server_label":"x","tunnel_id":"t"}]}`:                                                                    false,
		`{"tools":[{"type":"function","name":"server_label"}],"input":"\"server_label\""}`:                                                 false,
		`{"tools":[{"type":"mcp","server_label":"x","server_url":"https://example.com"},{"type":"mcp","server_label":"files"}],"input":1}`: true,
	} {
		if got := toolloop.Offers([]byte(body)); got != want {
			t.Errorf("%s: got %t, want %t", body, got, want)
		}
	}
	for _, member := range []string{`"authorization":"Bearer x"`, `"headers":{"Authorization":"x"}`, `"server_label":"unknown"`, `"require_approval":"sometimes"`} {
		f := newFixture(t, saying)
		body := `{"input":"Hi","tools":[{"type":"mcp","server_label":"files",` + member + `}]}`
		if member == `"server_label":"unknown"` {
			body = `{"input":"Hi","tools":[{"type":"mcp",` + member + `}]}`
		}
		_, err := f.send(body)
		if e := llm.AsError(err); err == nil || !strings.HasPrefix(e.Param, "tools[0].") || len(f.sent) != 0 {
			t.Errorf("%s: got %v and %d requests, want an error about it and none", member, err, len(f.sent))
		}
	}
}

// TestLoopEnds checks the bounds of calls and rounds with a model that always calls, and that the last request offers
// it no tools.
func TestLoopEnds(t *testing.T) {
	t.Parallel()
	for most, want := range map[string]int{``: 15, `"max_tool_calls":3,`: 3} {
		f := newFixture(t, calling)
		f.want(`{"model":"m","input":"Hi",` + most + never + `}`)
		if last := f.sent[len(f.sent)-1]; len(f.ran) != want || len(f.sent) != want+1 || strings.Contains(last, `"name":"files__read","description"`) {
			t.Errorf("%s: got %d calls and %d requests, the last one %s, want %d calls", most, len(f.ran), len(f.sent), last, want)
		}
	}
}

// TestRefusalEndsLoop checks that a budget without room ends a loop with what was done so far, and that the refusal of
// the first request is the answer.
func TestRefusalEndsLoop(t *testing.T) {
	t.Parallel()
	const refusal = `{"error":{"message":"The budget has no room."}}`
	first := newFixture(t, refusal)
	if w, err := first.send(`{"model":"m","input":"Hi",` + never + `}`); err != nil || w.Code != http.StatusPaymentRequired || w.Body.String() != refusal {
		t.Errorf("got %d %s %v, want the model's refusal", w.Code, w.Body, err)
	}
	later := newFixture(t, calling, refusal)
	got := later.want(`{"model":"m","input":"Hi",` + never + `}`)
	if got["status"] != "failed" || got["error"].(map[string]any)["message"] != "The budget has no room." || itemOf(t, got, "mcp_call")["output"] != "found it" {
		t.Errorf("got %v, want a failed answer with the call", got)
	}
	tool := newFixture(t, calling, saying)
	tool.failing = llm.Errorf(llm.CodeBudgetExceeded, "No room for the call.")
	if _, err := tool.send(`{"model":"m","input":"Hi",` + never + `}`); llm.AsError(err).Code != llm.CodeBudgetExceeded || len(tool.sent) != 1 {
		t.Errorf("got %v and %d requests, want the refusal and one", err, len(tool.sent))
	}
	broken := newFixture(t, calling, saying)
	broken.failing = llm.Errorf(llm.CodeProviderTimeout, "The server did not answer.")
	if call := itemOf(t, broken.want(`{"model":"m","input":"Hi",`+never+`}`), "mcp_call"); call["error"] != "The server did not answer." || call["status"] != "failed" {
		t.Errorf("got the call %v, want its failure, which the model gets", call)
	}
}

// TestStreamHasEventsOfCalls checks the order and the numbers of the events.
func TestStreamHasEventsOfCalls(t *testing.T) {
	t.Parallel()
	f := newFixture(t, calling, saying)
	w := must.Get(f.send(`{"model":"m","input":"Hi","stream":true,` + never + `}`))(t)
	var names []string
	for i, event := range strings.Split(strings.TrimSuffix(w.Body.String(), "\n\n"), "\n\n") {
		name, data, _ := strings.Cut(event, "\ndata: ")
		var v struct {
			Type           string
			SequenceNumber int `json:"sequence_number"`
		}
		must.Do(t, json.Unmarshal([]byte(data), &v))
		if name != "event: "+v.Type || v.SequenceNumber != i {
			t.Errorf("got the event %d as %s", i, event)
		}
		names = append(names, strings.TrimPrefix(v.Type, "response."))
	}
	must.Equal(t, names, strings.Fields(`created in_progress
		output_item.added mcp_list_tools.in_progress mcp_list_tools.completed output_item.done
		output_item.added mcp_call.in_progress mcp_call_arguments.delta mcp_call_arguments.done mcp_call.completed output_item.done
		output_item.added content_part.added output_text.delta output_text.done content_part.done output_item.done
		completed`), "events")
	if got := w.Header().Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("got the content type %q", got)
	}
}

// TestChatRunsTools checks the loop at Chat Completions, whole and as a stream, and that approvals are refused there.
func TestChatRunsTools(t *testing.T) {
	t.Parallel()
	const (
		calling = `{"id":"c1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"files__read","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"total_tokens":12}}`
		saying  = `{"id":"c2","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Here."},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"total_tokens":23}}`
	)
	f := newFixture(t, calling, saying)
	f.dialect = "openai"
	got := f.want(`{"model":"m","messages":[{"role":"user","content":"Hi"}],` + never + `}`)
	text := string(must.Get(json.Marshal(got))(t))
	if len(f.ran) != 1 || !strings.Contains(text, `"content":"Here."`) || !strings.Contains(text, `"usage":{"cost":0.005,"prompt_tokens":30,"total_tokens":35}`) {
		t.Errorf("got %s after the calls %q", text, f.ran)
	}
	if !strings.Contains(f.sent[1], `{"role":"tool","tool_call_id":"call_1","content":"found it"}`) {
		t.Errorf("got the second request %s", f.sent[1])
	}
	w := must.Get(f.send(`{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[],` + never + `}`))(t)
	if s := w.Body.String(); !strings.Contains(s, `"delta":{"role":"assistant","content":"Here."}`) || !strings.Contains(s, `"choices":[],"usage"`) || !strings.HasSuffix(s, "data: [DONE]\n\n") {
		t.Errorf("got the stream %s", s)
	}
	if _, err := f.send(`{"model":"m","messages":[],` + always + `}`); err == nil || llm.AsError(err).Param != "tools[0].require_approval" {
		t.Errorf("with approvals: got %v, want an error", err)
	}
}

const (
	toolset        = `"tools":[{"type":"mcp_toolset","mcp_server_name":"files"}]`
	messageCalling = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use","id":"toolu_1","name":"files__read","input":{"a":1}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":2}}`
	messageSaying  = `{"id":"msg_2","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Here."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":20,"output_tokens":3}}`
)

// TestMessagesRunTools checks the loop at the Messages API: its blocks, the requests to the model, and the forms in which
// a server is named.
func TestMessagesRunTools(t *testing.T) {
	t.Parallel()
	f := newFixture(t, messageCalling, messageSaying)
	f.dialect = "anthropic"
	got := f.want(`{"model":"m","messages":[{"role":"user","content":"Hi"}],` + toolset + `}`)
	content := must.Get(json.Marshal(got["content"]))(t)
	for _, want := range []string{
		`{"signature":"s","thinking":"hm","type":"thinking"}`, `"name":"read","server_name":"files","type":"mcp_tool_use"}`,
		`{"content":[{"text":"found it","type":"text"}],"is_error":false,"tool_use_id":"mcptoolu_`, `{"text":"Here.","type":"text"}]`,
	} {
		if !strings.Contains(string(content), want) {
			t.Errorf("got the content %s, want %s", content, want)
		}
	}
	if usage := string(must.Get(json.Marshal(got["usage"]))(t)); usage != `{"cost":0.005,"input_tokens":30,"output_tokens":5}` || got["stop_reason"] != "end_turn" {
		t.Errorf("got the usage %s and the end %v", usage, got["stop_reason"])
	}
	const turns = `{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use","id":"toolu_1","name":"files__read","input":{"a":1}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":false,"content":[{"type":"text","text":"found it"}]}]}]`
	if !strings.Contains(f.sent[1], turns) {
		t.Errorf("got the second request %s, want %s", f.sent[1], turns)
	}
	f.want(`{"model":"m","messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":` + string(content) + `},{"role":"user","content":"Go on"}],` + toolset + `}`)
	if last := f.sent[2]; strings.Count(last, `"role":"assistant"`) != 2 || !strings.Contains(last, `"type":"tool_use"`) || strings.Contains(last, "mcp_tool") {
		t.Errorf("got the request %s, want the earlier call as a function", last)
	}
	for tools, want := range map[string]bool{
		`{"type":"mcp","server_label":"files"}`: true,
		`{"type":"mcp_toolset","mcp_server_name":"files","default_config":{"enabled":false},"configs":{"read":{"enabled":true}}}`: true,
		`{"type":"mcp_toolset","mcp_server_name":"files","configs":{"read":{"enabled":false}}}`:                                   false,
		`{"type":"mcp","server_label":"files","allowed_tools":["erase/all"]}`:                                                     false,
	} {
		f := newFixture(t, messageSaying)
		f.dialect = "anthropic"
		f.want(`{"model":"m","messages":[],"tools":[` + tools + `]}`)
		if offers := strings.Contains(f.sent[0], `"name":"files__read"`); offers != want {
			t.Errorf("%s: got %s, want the tool: %t", tools, f.sent[0], want)
		}
	}
	if toolloop.Offers([]byte(`{"mcp_servers":[{"type":"url","url":"https://example.com","name":"files"}],` + toolset + `}`)) {
		t.Error("a toolset with an address in mcp_servers: got it as ours, want it left to the provider")
	}
	if _, err := f.send(`{"messages":[],` + strings.Replace(never, "never", "always", 1) + `}`); err == nil {
		t.Error("an approval at the Messages API: got none refused")
	}
}

// TestStreamOfMessagesHasEvents checks the order of the events.
func TestStreamOfMessagesHasEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t, messageCalling, messageSaying)
	f.dialect = "anthropic"
	w := must.Get(f.send(`{"model":"m","stream":true,"messages":[],` + toolset + `}`))(t)
	var names []string
	for event := range strings.SplitSeq(strings.TrimSuffix(w.Body.String(), "\n\n"), "\n\n") {
		name, data, _ := strings.Cut(event, "\ndata: ")
		var v struct {
			Type  string
			Delta struct{ Type string }
		}
		must.Do(t, json.Unmarshal([]byte(data), &v))
		if name != "event: "+v.Type {
			t.Errorf("got the event %s", event)
		}
		names = append(names, strings.TrimPrefix(v.Type, "content_block_")+strings.TrimSuffix(v.Delta.Type, "_delta"))
	}
	must.Equal(t, names, strings.Fields(`message_start
		start deltathinking deltasignature stop start deltainput_json stop start stop start deltatext stop
		message_delta message_stop`), "events")
}

// TestFailureOfLoopIsErrorOfItsFormat checks formats whose answers cannot be failed: the error itself is the answer, or
// the last event of a stream that has begun.
func TestFailureOfLoopIsErrorOfItsFormat(t *testing.T) {
	t.Parallel()
	const refusal = `{"error":{"message":"The budget has no room."}}`
	f := newFixture(t, messageCalling, refusal)
	f.dialect = "anthropic"
	if _, err := f.send(`{"messages":[],` + toolset + `}`); llm.AsError(err).Code != llm.CodeBudgetExceeded {
		t.Errorf("got %v, want the refusal of the second request", err)
	}
	w := must.Get(f.send(`{"stream":true,"messages":[],` + toolset + `}`))(t)
	if !strings.Contains(w.Body.String(), "event: message_start") || !strings.HasSuffix(w.Body.String(), `{"type":"error","error":{"type":"api_error","message":"The budget has no room."}}`+"\n\n") {
		t.Errorf("got the stream %s, want its error at the end", w.Body)
	}
}

// TestServersAreBounded checks requests with many servers, and with one that is large.
func TestServersAreBounded(t *testing.T) {
	t.Parallel()
	one := `{"type":"mcp","server_label":"files"}`
	for name, tools := range map[string]string{
		"many": one + strings.Repeat(","+one, 40), "large": `{"type":"mcp","server_label":"files","allowed_tools":["` + strings.Repeat("a", 70_000) + `"]}`,
	} {
		f := newFixture(t, saying)
		if _, err := f.send(`{"input":"Hi","tools":[` + tools + `]}`); llm.AsError(err).Code != llm.CodeInvalidRequest || len(f.sent) != 0 {
			t.Errorf("%s: got %v and %d requests, want a refusal and none", name, err, len(f.sent))
		}
	}
}

// FuzzLoop reads requests of clients and answers of models.
func FuzzLoop(f *testing.F) {
	f.Add(`{"model":"m","input":"Hi",`+never+`}`, calling)
	f.Add(`{"messages":[{"role":"assistant","content":[{"type":"mcp_tool_use","server_name":"files"},{"type":"mcp_tool_result"}]}],`+toolset+`}`, messageCalling)
	f.Add(`{"model":"m","input":[{"type":"mcp_call","server_label":"files"}],`+always+`}`, saying)
	f.Fuzz(func(t *testing.T, body, answer string) {
		if !json.Valid([]byte(body)) || !json.Valid([]byte(answer)) || !toolloop.Offers([]byte(body)) || json.Unmarshal([]byte(body), new(struct{ Stream bool })) != nil {
			return
		}
		for _, dialect := range []string{"responses", "openai", "anthropic"} {
			x := newFixture(t, answer)
			x.dialect = dialect
			w, err := x.send(body)
			if streamed := w.Header().Get("Content-Type") == "text/event-stream"; err == nil && !streamed && !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s: got %s, want JSON", body, w.Body)
			}
		}
	})
}
