package app

import (
	"context"

	"weir/internal/llm"
	"weir/internal/tool"
	"weir/internal/toolloop"
)

// newToolLoop returns the loop that runs tools of MCP servers for models.
func newToolLoop(g *instance) *toolloop.Loop {
	return toolloop.New(toolloop.Options{
		Tools: func(ctx context.Context, c *toolloop.Caller, server string) ([]toolloop.Tool, error) {
			return toolsForModel(ctx, g.tools, c, server)
		},
		Once: g.idempotency, Now: g.options.Now,
	})
}

// toolsForModel returns the tools of a server that the caller may call.
func toolsForModel(ctx context.Context, s *tool.Service, c *toolloop.Caller, server string) (
	[]toolloop.Tool, error,
) {
	if !s.HasServer(server) {
		return nil, llm.Errorf(llm.CodeInvalidRequest, "There is no MCP server %.100q in the configuration. Use the "+
			"name of one, or add server_url if the provider itself should call it.", server)
	}
	caller := tool.Caller{Principal: c.Principal}
	list, err := s.List(ctx, caller)
	if err != nil {
		return nil, err
	}
	var all []toolloop.Tool
	for i := range list {
		t := &list[i]
		if t.Server != server {
			continue
		}
		all = append(all, toolloop.Tool{
			Name: t.Own(), Definition: t.Definition,
			Call: func(ctx context.Context, arguments []byte, n int) (*toolloop.Result, error) {
				r, err := s.Call(ctx, &tool.Call{
					Caller: caller, Tool: t, Arguments: arguments, Attribution: c.Attribution, Request: c.Request,
					N: uint16(n), Arrived: c.Arrived, Admitted: true,
				})
				if r == nil {
					return nil, err
				}
				return &toolloop.Result{JSON: r.JSON, IsError: r.IsError, Charge: r.Charge}, err
			},
		})
	}
	if len(all) == 0 {
		return nil, llm.Errorf(llm.CodeInvalidRequest, "The MCP server %q has no tool that this API key may call, or "+
			"cannot be reached. Ask an operator: weir mcp servers.", server)
	}
	return all, nil
}
