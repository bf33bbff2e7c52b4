package tools_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
)

// offer adds prompts and resources to a server.
func (p *peer) offer() {
	for _, name := range []string{"greet", "private"} {
		p.sdk.AddPrompt(&sdk.Prompt{Name: name, Arguments: []*sdk.PromptArgument{{Name: "who", Required: true}}},
			func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
				p.calls.Add(1)
				return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{
					Role: "user", Content: &sdk.TextContent{Text: "Greet " + r.Params.Arguments["who"]},
				}}}, nil
			})
	}
	read := func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		p.calls.Add(1)
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: "of the first server"}}}, nil
	}
	p.sdk.AddResource(&sdk.Resource{Name: "readme", URI: "doc://readme"}, read)
	p.sdk.AddResource(&sdk.Resource{Name: "secret", URI: "secret://all"}, read)
	p.sdk.AddResourceTemplate(&sdk.ResourceTemplate{Name: "pages", URITemplate: "doc://pages/{n}"}, read)
}

const offered = "    prompts: [greet]\n    resources: [\"doc://*\"]\n"

// TestPromptsAndResourcesOfServers lists and uses what a server offers beside tools, in the newest and an old revision,
// from a server with and one without sessions. What is not allowed is neither listed nor reached.
func TestPromptsAndResourcesOfServers(t *testing.T) {
	t.Parallel()
	for _, stateless := range []bool{true, false} {
		p := newPeer(t, stateless)
		p.offer()
		h := harness.Open(t, harness.Setup{YAML: p.yaml(offered + "mcp_bundles:\n  bare:\n    prompts: [\"peer/*\"]\n    names: plain\n" +
			"prices:\n  mcp.peer/prompts/get: {request: \"0.25\"}\n")})
		h.SetBudget(5*llm.USD, budget.PeriodTotal) // resources have no price and are free
		key := toolKey(h, account.KeyOptions{})
		for _, revision := range []string{"2026-07-28", "2025-06-18"} {
			what := fmt.Sprintf("stateless %v, %s", stateless, revision)
			session := client(t, h, key, "/mcp", revision, nil)
			prompts := must.Get(session.ListPrompts(t.Context(), nil))(t).Prompts
			if len(prompts) != 1 || prompts[0].Name != "peer__greet" || len(prompts[0].Arguments) != 1 {
				t.Errorf("%s: got the prompts %v, want peer__greet", what, prompts)
			}
			got := must.Get(session.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "peer__greet", Arguments: map[string]string{"who": "Ada"}}))(t)
			must.Equal(t, got.Messages[0].Content.(*sdk.TextContent).Text, "Greet Ada", "%s: prompt", what)
			resources := must.Get(session.ListResources(t.Context(), nil))(t).Resources
			templates := must.Get(session.ListResourceTemplates(t.Context(), nil))(t).ResourceTemplates
			if len(resources) != 1 || resources[0].URI != "doc://readme" || len(templates) != 1 {
				t.Errorf("%s: got the resources %v and templates %v, want one of each", what, resources, templates)
			}
			for _, uri := range []string{"doc://readme", "doc://pages/7"} {
				read := must.Get(session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}))(t)
				must.Equal(t, read.Contents[0].URI, uri, "%s: resource", what)
			}
			before := p.calls.Load()
			for _, uri := range []string{"secret://all", "other://"} {
				if _, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
					t.Errorf("%s: %s: got a resource, want an error", what, uri)
				}
			}
			if _, err := session.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "peer__private"}); err == nil {
				t.Errorf("%s: got a prompt that is not allowed", what)
			}
			must.Equal(t, p.calls.Load(), before, "%s: calls of what is not allowed", what)
		}
		bare := client(t, h, key, "/mcp/bare", "", nil)
		must.Equal(t, must.Get(bare.ListPrompts(t.Context(), nil))(t).Prompts[0].Name, "greet", "plain name")
		must.Equal(t, len(must.Get(bare.ListResources(t.Context(), nil))(t).Resources), 0, "resources of a bundle without any")
		rows := map[string]int{}
		harness.Await(t, "six rows", func() bool {
			clear(rows)
			h.EachEntry(func(e *report.Exported) {
				rows[fmt.Sprintf("%s %s %s", e.FullModel(), e.Outcome, e.Cost)]++
				if e.Sizes.Arguments == 0 || e.Sizes.Result == 0 {
					t.Errorf("%s: got the sizes %+v, want those of params and result", e.FullModel(), e.Sizes)
				}
			})
			return rows["mcp.peer/resources/read ok 0"] == 4
		})
		must.Equal(t, rows["mcp.peer/prompts/get ok 0.25"], 2, "rows %v", rows)
		h.Verify(t)
	}
}

// TestCompletionReachesServerOfPrompt completes an argument of a prompt: the server gets its own name of the prompt.
func TestCompletionReachesServerOfPrompt(t *testing.T) {
	t.Parallel()
	var got string
	p := newPeerWith(t, &sdk.ServerOptions{
		CompletionHandler: func(_ context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
			got = r.Params.Ref.Name + r.Params.Ref.URI
			return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{"Ada"}}}, nil
		},
	})
	p.offer()
	h := harness.Open(t, harness.Setup{YAML: p.yaml(offered)})
	session := client(t, h, toolKey(h, account.KeyOptions{}), "/mcp", "", nil)
	for _, test := range []struct {
		ref  sdk.CompleteReference
		want string
	}{
		{sdk.CompleteReference{Type: "ref/prompt", Name: "peer__greet"}, "greet"},
		{sdk.CompleteReference{Type: "ref/resource", URI: "doc://pages/{n}"}, "doc://pages/{n}"},
	} {
		result := must.Get(session.Complete(t.Context(), &sdk.CompleteParams{
			Ref: &test.ref, Argument: sdk.CompleteParamsArgument{Name: "who", Value: "A"},
		}))(t)
		must.Equal(t, strings.Join(result.Completion.Values, " "), "Ada", "values for %+v", test.ref)
		must.Equal(t, got, test.want, "the server's name of %+v", test.ref)
	}
	_, err := session.Complete(t.Context(), &sdk.CompleteParams{
		Ref: &sdk.CompleteReference{Type: "ref/prompt", Name: "peer__private"}, Argument: sdk.CompleteParamsArgument{Name: "who"},
	})
	if err == nil {
		t.Error("a completion for a prompt that is not allowed: got a result, want an error")
	}
}

// TestMetricsCountCallsOfServers checks the outcomes of a good call, one whose tool fails, and one with invalid
// arguments, and the gauges of the server.
func TestMetricsCountCallsOfServers(t *testing.T) {
	t.Parallel()
	p := newPeer(t, true)
	h := harness.Open(t, harness.Setup{YAML: p.yaml("")})
	session := client(t, h, toolKey(h, account.KeyOptions{}), "/mcp", "", nil)
	for _, arguments := range []any{sumInput{1, 1}, sumInput{-1, 1}} {
		must.Get(session.CallTool(t.Context(), &sdk.CallToolParams{Name: "peer__sum", Arguments: arguments}))(t)
	}
	r := h.Do(harness.Ask{Path: "/metrics"})
	must.Equal(t, r.Status, http.StatusOK, "%s", r.Body)
	for _, want := range []string{
		`weir_mcp_calls_total{outcome="ok",server="peer"} 1`, `weir_mcp_calls_total{outcome="tool_error",server="peer"} 1`,
		`weir_mcp_call_duration_seconds_count{server="peer"} 2`, `weir_mcp_server_up{server="peer"} 1`,
		`weir_mcp_tools_held{server="peer"} 0`, `weir_mcp_call_bytes_total{part="arguments",server="peer"} 27`,
	} {
		if !strings.Contains(r.Body, want) {
			t.Errorf("metrics: got none that is %s", want)
		}
	}
}
