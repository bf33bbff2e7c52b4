package tool

import (
	"slices"

	"weir/internal/account"
	"weir/internal/connection"
	"weir/internal/llm"
	"weir/internal/mcp"
	"weir/internal/mcp/stdio"
)

// Prefix is before the name of a server where the ledger has the name of a provider.
const Prefix = "mcp."

// separator is between the names of a server and a tool, as clients see them. A server's name has no underscore.
const separator = "__"

// Server is a configured server.
type Server struct {
	Name   string
	Client mcp.Options
	// Command runs the server as a process; nil for a server over HTTP.
	Command *stdio.Options
	// Fingerprint changes if a connection with other values is needed.
	Fingerprint string
	Tools       []string // patterns of the tools that may be called
	Prompts     []string // patterns of the prompts that may be used; empty for none
	Resources   []string // patterns of the URIs that may be read; empty for none
	Accounts    []string // names; empty for all
	// CostMember is the member of a result's _meta with the cost in US dollars, empty for none, and CostAtMost the most
	// that a call can cost then.
	CostMember string
	CostAtMost llm.Money
	// ApproveNew holds also new tools until somebody has approved them.
	ApproveNew bool
	// PerPerson sends calls with the access of the person of the caller's key. Connection describes how people connect
	// to the server; nil if they do not.
	PerPerson  bool
	Connection *connection.Server
	// TraceContext sends the server the trace context of calls.
	TraceContext bool
}

// Bundle is a selection of tools.
type Bundle struct {
	Tools []string // patterns of <server>/<tool>
	// Prompts and Resources are patterns of <server>/<prompt> and <server>/<URI>; empty for none.
	Prompts, Resources []string
	Accounts           []string // names; empty for all
	Plain              bool     // tools have the names that their servers give them
}

// Configuration holds the servers and bundles in force.
type Configuration struct {
	Servers []Server // by name
	Bundles map[string]Bundle
}

// Caller is who lists or calls tools.
type Caller struct {
	Principal *account.Principal
	Bundle    string // empty for all tools
}

// admits reports whether an account is one of those named; empty names all.
func admits(names []string, p *account.Principal) bool {
	return len(names) == 0 || p.Account() != nil && slices.Contains(names, p.Account().Name)
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return llm.Matches(pattern, name) })
}

// Tool is a tool that a caller may call.
type Tool struct {
	Name       string // as the caller knows it
	Server     string // the server's name
	Definition []byte // with Name, as JSON
	entry      *entry
	source     *source
}

// Own returns the server's name of the tool.
func (t *Tool) Own() string { return t.entry.tool.Name }
