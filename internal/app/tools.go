package app

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/dashboard"
	"weir/internal/llm"
	"weir/internal/telemetry"
	"weir/internal/tool"
	"weir/internal/toolserver"
)

// openTools opens the tools of MCP servers.
func openTools(g *instance) error {
	o := g.options
	g.tools = tool.New(tool.Options{
		Ledger: g.ledger, Limits: g.limits, Definitions: g.store.MCPTools, Refused: g.noticeRefusal,
		Connections: g.admin.Connections.Service,
		Price: func(provider, model string, at time.Time) llm.Price {
			return g.upstream.Prices().Now().Book.Price(provider, model, at)
		},
		Content: g.content, Metrics: g.metrics, Now: o.Now, Log: o.Log,
	})
	g.onClose(func() error { g.tools.Close(); return nil })
	if g.metrics != nil {
		gaugeTools(g.metrics, g.tools)
	}
	return g.tools.Use(g.upstream.Tools(&o.Config))
}

// newToolServer returns the server of tools.
func newToolServer(g *instance, s *site) *toolserver.Server {
	from := originOf(&g.options.Config)
	return toolserver.New(toolserver.Options{
		Tools: g.tools, Accounts: g.admin.Accounts, Ledger: g.ledger, Capacity: g.gateway.Capacity(),
		Refusals: g.pipeline.Refusals, Tracer: g.tracer, Version: g.options.Version, Now: g.options.Now,
		Log: g.options.Log,
		Challenge: func(r *http.Request) string {
			return g.admin.OAuth.Challenge(r.URL.Path, r.Header.Get("Authorization") != "")
		},
		Allows: func(r *http.Request) bool {
			sent, policy := r.Header["Origin"], s.cors.Load()
			// A page's own host name that points at the gateway is not the gateway's origin (DNS rebinding).
			return len(sent) == 0 || slices.Equal(sent, []string{from.base(r)}) && from.checkHost(r) == nil ||
				policy != nil && policy.allow(http.Header{}, sent)
		},
	})
}

// toolRoutes returns the routes of the tools.
func (s *site) toolRoutes() (all []httpRoute) {
	for _, pattern := range []string{"GET /mcp", "POST /mcp", "GET /mcp/{bundle}", "POST /mcp/{bundle}"} {
		all = append(all, httpRoute{
			pattern: pattern, permission: account.Tools, handler: s.tools.Handler(account.Tools),
		})
	}
	return all
}

// gaugeTools adds gauges of the servers, as of their last lists.
func gaugeTools(m *telemetry.Metrics, s *tool.Service) {
	m.GaugeBy("weir_mcp_server_up", "server", "1 if the MCP server answered the last request for its tools.",
		func(tell func(string, float64)) {
			for _, c := range s.Latest() {
				switch {
				case c.Problem != "":
					tell(c.Name, 0)
				case c.Read:
					tell(c.Name, 1)
				}
			}
		})
	m.GaugeBy("weir_mcp_tools_held", "server", "Allowed tools of the MCP server whose definition is not approved.",
		func(tell func(string, float64)) {
			for _, c := range s.Latest() {
				tell(c.Name, float64(c.Held))
			}
		})
}

// tryFor bounds a call of a tool by a page.
const tryFor = 2 * time.Minute

// toolsOfPages returns the tools for pages on which people try them.
func toolsOfPages(g *instance) dashboard.Tools {
	return dashboard.Tools{
		List: func(ctx context.Context, p *account.Principal) ([]tool.Tool, error) {
			return g.tools.List(ctx, tool.Caller{Principal: p})
		},
		Silent: func(p *account.Principal) []string { return tool.Silent(g.tools, p) },
		Call: func(ctx context.Context, p *account.Principal, name string, arguments json.RawMessage) (
			id uuid.UUID, result *tool.Result, err error,
		) {
			ctx, cancel := context.WithTimeout(ctx, tryFor)
			defer cancel()
			c := &tool.Call{
				Caller: tool.Caller{Principal: p}, Arguments: arguments, Request: g.ledger.NewID(), N: 1,
				Arrived: g.ledger.Now().UTC().Truncate(time.Microsecond),
			}
			if c.Tool, err = g.tools.Find(ctx, c.Caller, name); err != nil {
				return id, nil, err
			}
			if result, err = g.tools.Call(ctx, c); result != nil {
				id = c.Request
			}
			return id, result, err
		},
	}
}
