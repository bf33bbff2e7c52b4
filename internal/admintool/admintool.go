// Package admintool offers the operations of the administration to programs that run language models, as tools of the
// Model Context Protocol (https://modelcontextprotocol.io/specification/2026-07-28). It has no operation of its own:
// a tool's name, description and arguments are those of the OpenAPI document, and a call is a request to the
// operation's route, with the caller's credentials and behind the same guard.
package admintool

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"weir/internal/llm"
	"weir/internal/people"
)

const (
	// Path offers the tools that only read.
	Path = "/admin/mcp"
	// WritePath offers all tools.
	WritePath = Path + "/write"

	// maxBody bounds a message of a client, in bytes.
	maxBody = 1 << 20
	// maxResult bounds the result of a tool, in bytes, because a model reads all of it.
	maxResult = 256 << 10
	// callWait bounds a request, above the time that an operation takes at most.
	callWait = time.Minute
	// listTTL is how long a client may use a list of tools, in milliseconds. The list changes with the caller's role.
	listTTL = 60_000
)

// Options holds what a Server needs. All are required.
type Options struct {
	// Document returns the OpenAPI document of the gateway.
	Document func() ([]byte, error)
	// Routes lists the routes of the administration.
	Routes []people.Route
	// Guard returns the handler of a route that checks the caller's rights, and names the tool in the audit log.
	Guard func(route people.Route, tool string) http.Handler
	// Refuse answers with an error.
	Refuse func(w http.ResponseWriter, r *http.Request, v *people.Visit, err error)
	// Version is the version of the program.
	Version string
	Log     *slog.Logger
}

// Server answers MCP requests to the administration.
type Server struct {
	options Options
	tools   func() ([]tool, error) // built at the first request
}

// New creates a server.
func New(o Options) *Server {
	return &Server{o, sync.OnceValues(func() ([]tool, error) { return newTools(&o) })}
}

// Routes returns the routes of the server. They admit every caller of the administration; each tool checks its own
// right.
func (s *Server) Routes() []people.Route {
	route := func(path string, writes bool) people.Route {
		// A call that changes something is counted as a change by its own route.
		serve := func(w http.ResponseWriter, r *http.Request, v *people.Visit) {
			if err := s.serve(w, r, v, writes); err != nil {
				s.options.Refuse(w, r, v, err)
			}
		}
		return people.Route{Pattern: "POST " + path, Right: people.SignedIn, Ask: true, Serve: serve}
	}
	return []people.Route{route(Path, false), route(WritePath, true)}
}

// serve answers one message. The SDK serves all revisions of the protocol without sessions.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, v *people.Visit, writes bool) error {
	ctx, cancel := context.WithTimeout(r.Context(), callWait)
	defer cancel()
	r = r.WithContext(ctx)
	wanted, err := readWish(r)
	if err != nil {
		return err
	}
	tools, err := s.tools()
	if err != nil {
		return fmt.Errorf("tools of the administration: %w", err)
	}
	server := mcp.NewServer(&mcp.Implementation{
		Name: "weir-admin", Title: "Weir administration", Version: s.options.Version,
	}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		Instructions: instructions(writes), SetCacheable: private, PageSize: len(tools) + 1,
	})
	for i := range tools {
		if t := &tools[i]; wanted.has(t.mcp.Name) && (writes || !t.writes) && t.isFor(v) {
			call := func(ctx context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return s.call(r.WithContext(ctx), t, call.Params.Arguments), nil
			}
			server.AddTool(&t.mcp, call)
		}
	}
	mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
		// The guard of all routes has checked the host name, also that of a proxy on this machine.
		DisableLocalhostProtection: true,
	}).ServeHTTP(w, r)
	return nil
}

// private forbids caches to share a list of tools, because it depends on the caller's role.
func private(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
	c.CacheScope, c.TTLMs = "private", listTTL
}

func instructions(writes bool) string {
	const reading = "Administration of a Weir gateway: accounts, API keys, usage, costs, configuration. Amounts are " +
		"US dollars, times are UTC. Lists have pages: repeat a call with next_cursor as cursor. "
	if writes {
		return reading + "The tools act at once and with the caller's rights, and each change is in the audit log."
	}
	return reading + "These tools only read. Tools that change something are at " + WritePath + "."
}

// isFor reports whether a visitor may have the right of the tool: for an account's tools, in one of the accounts. The
// route of the tool decides.
func (t *tool) isFor(v *people.Visit) bool {
	if v.May(t.route.Right, "") == nil {
		return true
	}
	return slices.ContainsFunc(v.Memberships(), func(m people.Membership) bool {
		return v.May(t.route.Right, m.AccountID) == nil
	})
}

// call executes a tool. A failure is a result for the model, which may correct the call.
func (s *Server) call(r *http.Request, t *tool, arguments json.RawMessage) (result *mcp.CallToolResult) {
	defer func() {
		// The SDK calls tools in goroutines of its own, which the HTTP server does not protect.
		if p := recover(); p != nil {
			s.options.Log.Error("a tool of the administration panicked", "tool", t.mcp.Name, "panic", fmt.Sprint(p),
				"stack", string(debug.Stack()))
			result = failed("The gateway failed. Its log has the reason.")
		}
	}()
	inner, err := t.request(r, arguments)
	if err != nil {
		return failed(llm.AsError(err).Message)
	}
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	t.handler.ServeHTTP(w, inner)
	return w.result()
}

// failed returns the result of a call that failed.
func failed(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}
