package tools_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
)

// caller is a provider of OpenAI's wire format whose model calls the tool sum once, and then answers with its result.
type caller struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
}

func newCaller(t *testing.T) *caller {
	t.Helper()
	c := &caller{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := must.Get(io.ReadAll(r.Body))(t)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bodies = append(c.bodies, string(body))
		message, reason := `{"role":"assistant","content":"It is 3."}`, "stop"
		if !strings.Contains(string(body), `"role":"tool"`) && strings.Contains(string(body), "peer__sum") {
			message, reason = `{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"peer__sum","arguments":"{\"a\":1,\"b\":2}"}}]}`, "tool_calls"
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":%s,"finish_reason":%q}],"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110}}`, message, reason)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *caller) yaml(p *peer) string {
	return fmt.Sprintf("providers:\n  house:\n    dialect: openai\n    base_url: %s\n    api_keys: [x]\n    allow_private: true\n    models: [m]\n", c.URL) +
		p.yaml("prices:\n  mcp.peer/sum: {request: \"0.5\"}\n  house/m: {input: \"1000\", output: \"1000\"}\n")
}

func modelKey(h *harness.Gateway) string {
	return h.NewKey(account.KeyOptions{Account: account.DefaultName, Permissions: []account.Permission{account.Chat, account.Tools}})
}

const ownServer = `"tools":[{"type":"mcp","server_label":"peer","require_approval":"never"}]`

// TestModelCallsToolsOfServers checks the answers of both client APIs, and that a request has one row for each request
// to the model and each call, in turn, is counted once, and costs their sum.
func TestModelCallsToolsOfServers(t *testing.T) {
	t.Parallel()
	for path, body := range map[string]string{
		"/v1/responses":        `{"model":"house/m","input":"Add 1 and 2.",` + ownServer + `}`,
		"/v1/messages":         `{"model":"house/m","max_tokens":50,"messages":[{"role":"user","content":"Add 1 and 2."}],"tools":[{"type":"mcp_toolset","mcp_server_name":"peer"}]}`,
		"/v1/chat/completions": `{"model":"house/m","messages":[{"role":"user","content":"Add 1 and 2."}],` + ownServer + `}`,
	} {
		for _, stream := range []bool{false, true} {
			p, c := newPeer(t, true), newCaller(t)
			h := harness.Open(t, harness.Setup{YAML: c.yaml(p)})
			sent := body
			if stream {
				sent = strings.Replace(body, "{", `{"stream":true,"stream_options":{"include_usage":true},`, 1)
				if path != "/v1/chat/completions" {
					sent = strings.Replace(body, "{", `{"stream":true,`, 1)
				}
			}
			r := h.Do(harness.Ask{Path: path, Body: sent, Key: modelKey(h)})
			if r.Status != http.StatusOK || !strings.Contains(r.Body, "It is 3.") || !strings.Contains(r.Body, `"cost":0.72`) || p.calls.Load() != 1 {
				t.Errorf("%s, stream %t: got %d %s after %d calls", path, stream, r.Status, r.Body, p.calls.Load())
			}
			if path == "/v1/responses" && !strings.Contains(r.Body, `"mcp_call"`) {
				t.Errorf("%s, stream %t: got %s, want the call", path, stream, r.Body)
			}
			var rows []string
			var arrived []time.Time
			harness.Await(t, "three rows", func() bool {
				rows, arrived = nil, nil
				h.EachEntry(func(e *report.Exported) {
					arrived = append(arrived, e.Arrived)
					rows = append(rows, fmt.Sprintf("%d %s %s", e.ID.N, e.FullModel(), e.Cost))
				})
				return len(rows) == 3
			})
			slices.Sort(rows)
			must.Equal(t, rows, []string{"1 house/m 0.11", "2 mcp.peer/sum 0.5", "3 house/m 0.11"}, "rows of one request")
			must.Equal(t, arrived, slices.Repeat(arrived[:1], 3), "arrivals of the rows")
			if uses := h.Uses(""); uses.Total.Requests != "1" || uses.Total.Cost != "0.72" {
				t.Errorf("%s: got %s requests for %s, want 1 for 0.72", path, uses.Total.Requests, uses.Total.Cost)
			}
			h.Verify(t)
		}
	}
}

// TestApprovedCallRunsOnce asks for an approval, and sends it twice.
func TestApprovedCallRunsOnce(t *testing.T) {
	t.Parallel()
	p, c := newPeer(t, true), newCaller(t)
	h := harness.Open(t, harness.Setup{YAML: c.yaml(p)})
	key := modelKey(h)
	tools := strings.Replace(ownServer, "never", "always", 1)
	r := h.Do(harness.Ask{Path: "/v1/responses", Key: key, Body: `{"model":"house/m","input":"Add.",` + tools + `}`})
	var answer struct{ Output []json.RawMessage }
	must.Do(t, json.Unmarshal([]byte(r.Body), &answer))
	i := slices.IndexFunc(answer.Output, func(item json.RawMessage) bool { return strings.Contains(string(item), "mcp_approval_request") })
	if i < 0 || p.calls.Load() != 0 {
		t.Fatalf("got %d %s after %d calls, want a request for an approval", r.Status, r.Body, p.calls.Load())
	}
	var asked struct{ ID string }
	must.Do(t, json.Unmarshal(answer.Output[i], &asked))
	body := fmt.Sprintf(`{"model":"house/m","input":[{"role":"user","content":"Add."},%s,{"type":"mcp_approval_response","approval_request_id":%q,"approve":true}],%s}`, answer.Output[i], asked.ID, tools)
	if r := h.Do(harness.Ask{Path: "/v1/responses", Key: key, Body: body}); r.Status != http.StatusOK || !strings.Contains(r.Body, "It is 3.") || p.calls.Load() != 1 {
		t.Errorf("approved: got %d %s after %d calls", r.Status, r.Body, p.calls.Load())
	}
	if r := h.Do(harness.Ask{Path: "/v1/responses", Key: key, Body: body}); r.Status != http.StatusBadRequest || p.calls.Load() != 1 {
		t.Errorf("approved again: got %d %s after %d calls, want 400 and one", r.Status, r.Body, p.calls.Load())
	}
	if r := h.Do(harness.Ask{Path: "/v1/responses", Key: modelKey(h), Body: body}); r.Status != http.StatusBadRequest || p.calls.Load() != 1 {
		t.Errorf("approved by another key: got %d %s after %d calls, want 400 and one", r.Status, r.Body, p.calls.Load())
	}
}

// TestBudgetHoldsInLoops runs loops at the same time against a budget that has room for some of their calls.
func TestBudgetHoldsInLoops(t *testing.T) {
	t.Parallel()
	p, c := newPeer(t, true), newCaller(t)
	h := harness.Open(t, harness.Setup{YAML: c.yaml(p)})
	h.SetBudget(4*llm.USD, budget.PeriodTotal)
	key := modelKey(h)
	var running sync.WaitGroup
	for range 24 {
		running.Go(func() {
			r := h.Do(harness.Ask{Path: "/v1/responses", Key: key, Body: `{"model":"house/m","max_output_tokens":10,"input":"Add.",` + ownServer + `}`})
			if r.Status != http.StatusOK && r.Status != http.StatusTooManyRequests {
				t.Errorf("got %d %s, want an answer or the budget's refusal", r.Status, r.Body)
			}
		})
	}
	running.Wait()
	if n := p.calls.Load(); n == 0 || n > 7 {
		t.Errorf("got %d calls for 0.5 dollars each with a budget of 4, want 1 to 7", n)
	}
	h.Verify(t)
	cost := must.Get(llm.ParseMoney(h.Uses("").Total.Cost.String()))(t)
	if cost <= 0 || cost > 4*llm.USD {
		t.Errorf("got a cost of %s, want some, and at most the budget of 4", cost)
	}
}

// TestToolsOfModelsAreRefused checks requests for which no model is asked.
func TestToolsOfModelsAreRefused(t *testing.T) {
	t.Parallel()
	p, c := newPeer(t, true), newCaller(t)
	h := harness.Open(t, harness.Setup{YAML: c.yaml(p)})
	for _, test := range []struct {
		name, key, path, body string
		status                int
		want                  string
	}{
		{"no permission", h.NewKey(account.KeyOptions{Account: account.DefaultName, Permissions: []account.Permission{account.Chat}}), "/v1/responses", `{"model":"house/m","input":"Hi",` + ownServer + `}`, 403, "tools"},
		{"an unknown server", modelKey(h), "/v1/responses", `{"model":"house/m","input":"Hi","tools":[{"type":"mcp","server_label":"none"}]}`, 400, "no MCP server"},
		{"the client's token", modelKey(h), "/v1/responses", `{"model":"house/m","input":"Hi","tools":[{"type":"mcp","server_label":"peer","authorization":"t0ken"}]}`, 400, "passes no credentials"},
		{"another API", modelKey(h), "/v1/chat", `{"model":"house/m","messages":[{"role":"user","prompt":"Hi"}],` + ownServer + `}`, 400, "Responses API"},
	} {
		r := h.Do(harness.Ask{Path: test.path, Key: test.key, Body: test.body})
		if r.Status != test.status || !strings.Contains(r.Body, test.want) {
			t.Errorf("%s: got %d %s, want %d %s", test.name, r.Status, r.Body, test.status, test.want)
		}
		if ids := r.Header.Values("X-Request-Id"); len(ids) != 1 {
			t.Errorf("%s: got the ids %q, want one", test.name, ids)
		}
	}
	if len(c.bodies) != 0 || p.calls.Load() != 0 {
		t.Errorf("got the requests %q to the model and %d calls, want none", c.bodies, p.calls.Load())
	}
}

// TestToolWithoutPriceIsFreeInSum checks that an answer has its cost also if a tool has no price.
func TestToolWithoutPriceIsFreeInSum(t *testing.T) {
	t.Parallel()
	p, c := newPeer(t, true), newCaller(t)
	h := harness.Open(t, harness.Setup{YAML: strings.Replace(c.yaml(p), `mcp.peer/sum: {request: "0.5"}`, `mcp.peer/slow: {request: "0.5"}`, 1)})
	r := h.Do(harness.Ask{Path: "/v1/responses", Body: `{"model":"house/m","input":"Add 1 and 2.",` + ownServer + `}`, Key: modelKey(h)})
	if r.Status != http.StatusOK || !strings.Contains(r.Body, `"cost":0.22`) || p.calls.Load() != 1 {
		t.Errorf("got %d %s after %d calls, want the cost of two requests", r.Status, r.Body, p.calls.Load())
	}
}
