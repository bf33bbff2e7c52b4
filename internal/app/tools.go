package app

import (
	"net/http"
	"slices"
	"time"

	"weir/internal/account"
	"weir/internal/llm"
	"weir/internal/tool"
	"weir/internal/toolserver"
)

// openTools opens the tools of MCP servers.
func openTools(g *instance) error {
	o := g.options
	g.tools = tool.New(tool.Options{
		Ledger: g.ledger, Limits: g.limits, Definitions: g.store.MCPTools, Refused: g.noticeRefusal,
		Price: func(provider, model string, at time.Time) llm.Price {
			return g.upstream.Prices().Now().Book.Price(provider, model, at)
		},
		Content: g.content, Metrics: g.metrics, Now: o.Now, Log: o.Log,
	})
	g.onClose(func() error { g.tools.Close(); return nil })
	return g.tools.Use(g.upstream.Tools(&o.Config))
}

// newToolServer returns the server of tools.
func newToolServer(g *instance, s *site) *toolserver.Server {
	from := originOf(&g.options.Config)
	return toolserver.New(toolserver.Options{
		Tools: g.tools, Accounts: g.admin.Accounts, Ledger: g.ledger, Capacity: g.gateway.Capacity(),
		Refusals: g.pipeline.Refusals, Tracer: g.tracer, Version: g.options.Version, Log: g.options.Log,
		Challenge: func(r *http.Request) string {
			return g.admin.OAuth.Challenge(r.URL.Path, r.Header.Get("Authorization") != "")
		},
		Allows: func(r *http.Request) bool {
			sent, policy := r.Header["Origin"], s.cors.Load()
			return len(sent) == 0 || slices.Equal(sent, []string{from.base(r)}) ||
				policy != nil && policy.allow(http.Header{}, sent)
		},
	})
}

// toolRoutes returns the routes of the tools.
func (s *site) toolRoutes() (all []httpRoute) {
	for _, pattern := range []string{"POST /mcp", "POST /mcp/{bundle}"} {
		all = append(all, httpRoute{
			pattern: pattern, permission: account.Tools, handler: s.tools.Handler(account.Tools),
		})
	}
	return all
}
