package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"weir/internal/account"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// openTools opens a gateway with an MCP server "peer" and a model that calls its tool "sum" once.
func openTools(t *testing.T) (h *harness.Gateway, key string) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "sum", Description: "adds"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		A int `json:"a"`
		B int `json:"b"`
	},
	) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(in.A + in.B)}}}, nil, nil
	})
	peer := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(peer.Close)
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := string(must.Get(io.ReadAll(r.Body))(t))
		message, reason := `{"role":"assistant","content":"It is 3."}`, "stop"
		if !strings.Contains(body, `"role":"tool"`) {
			message, reason = `{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"peer__sum","arguments":"{\"a\":1,\"b\":2}"}}]}`, "tool_calls"
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":%s,"finish_reason":%q}],"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110}}`, message, reason)
	}))
	t.Cleanup(model.Close)
	h = harness.Open(t, harness.Setup{YAML: fmt.Sprintf("providers:\n  house:\n    dialect: openai\n    base_url: %s\n    api_keys: [x]\n    allow_private: true\n    models: [m]\n"+
		"mcp_servers:\n  peer:\n    url: %s\n    allow_private: true\n    tools: [sum]\n", model.URL, peer.URL)})
	return h, h.NewKey(account.KeyOptions{Account: account.DefaultName, Permissions: []account.Permission{account.Chat, account.Tools}})
}

// TestSDKsReadToolsOfServers checks that the vendors' clients read the items, blocks and events of tools that the
// gateway ran.
func TestSDKsReadToolsOfServers(t *testing.T) {
	t.Parallel()
	h, key := openTools(t)
	client := openai.NewClient(option.WithBaseURL(h.URL+"/v1"), option.WithAPIKey(key), option.WithHTTPClient(h.Client), option.WithMaxRetries(0))
	params := responses.ResponseNewParams{Model: "house/m", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Add 1 and 2.")}, Tools: []responses.ToolUnionParam{
		{OfMcp: &responses.ToolMcpParam{ServerLabel: "peer", RequireApproval: responses.ToolMcpRequireApprovalUnionParam{OfMcpToolApprovalSetting: openai.String("never")}}},
	}}
	whole := must.Get(client.Responses.New(t.Context(), params))(t)
	checkToolItems(t, "whole", whole)
	stream := client.Responses.NewStreaming(t.Context(), params)
	var done *responses.Response
	events := map[string]int{}
	for stream.Next() {
		e := stream.Current()
		events[e.Type]++
		if e.Type == "response.completed" {
			done = &e.Response
		}
	}
	must.Do(t, stream.Err())
	if done == nil || events["response.mcp_call.completed"] != 1 || events["response.mcp_list_tools.completed"] != 1 || events["response.output_text.delta"] != 1 {
		t.Fatalf("got the events %v", events)
	}
	checkToolItems(t, "stream", done)

	claude := anthropic.NewClient(anthropicoption.WithBaseURL(h.URL), anthropicoption.WithAPIKey(key), anthropicoption.WithHTTPClient(h.Client), anthropicoption.WithMaxRetries(0))
	asked := anthropic.BetaMessageNewParams{
		Model: "house/m", MaxTokens: 100, Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("Add 1 and 2."))},
		Tools: []anthropic.BetaToolUnionParam{{OfMCPToolset: &anthropic.BetaMCPToolsetParam{MCPServerName: "peer"}}},
	}
	message := must.Get(claude.Beta.Messages.New(t.Context(), asked))(t)
	checkToolBlocks(t, "whole", message)
	streamed := claude.Beta.Messages.NewStreaming(t.Context(), asked)
	var acc anthropic.BetaMessage
	for streamed.Next() {
		must.Do(t, acc.Accumulate(streamed.Current()))
	}
	must.Do(t, streamed.Err())
	checkToolBlocks(t, "stream", &acc)
}

func checkToolItems(t *testing.T, how string, r *responses.Response) {
	t.Helper()
	var kinds []string
	for i := range r.Output {
		kinds = append(kinds, r.Output[i].Type)
		if call := r.Output[i].AsMcpCall(); call.Type == "mcp_call" && (call.Output != "3" || call.ServerLabel != "peer" || call.Name != "sum") {
			t.Errorf("%s: got the call %+v", how, call)
		}
	}
	must.Equal(t, kinds, []string{"mcp_list_tools", "mcp_call", "message"}, "%s", how)
	if r.OutputText() != "It is 3." || r.Usage.TotalTokens != 220 {
		t.Errorf("%s: got %q and %d tokens, want the sum of both requests", how, r.OutputText(), r.Usage.TotalTokens)
	}
}

func checkToolBlocks(t *testing.T, how string, m *anthropic.BetaMessage) {
	t.Helper()
	var kinds []string
	for i := range m.Content {
		kinds = append(kinds, m.Content[i].Type)
	}
	must.Equal(t, kinds, []string{"mcp_tool_use", "mcp_tool_result", "text"}, "%s", how)
	if use := m.Content[0].AsMCPToolUse(); use.Name != "sum" || use.ServerName != "peer" || m.Usage.InputTokens != 200 {
		t.Errorf("%s: got %+v and %d tokens of input", how, use, m.Usage.InputTokens)
	}
}
