package config

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"weir/internal/llm"
)

// MCPPrefix is before the name of an MCP server where the names of providers are: in the ledger, in reports, in prices
// and in the models of a key, as in mcp.github/create_issue.
const MCPPrefix = "mcp."

// MCPServer is a server of tools that speaks the Model Context Protocol over HTTP, or as a process of this machine.
type MCPServer struct {
	// URL is http or https, without credentials, query or fragment.
	URL string `yaml:"url,omitempty"`
	// Command is the absolute path of a program, and its arguments, in place of URL. Env is its whole environment, as
	// NAME=value. Only the file has them, never the managed configuration.
	Command []string     `yaml:"command,omitempty"`
	Env     []llm.Secret `yaml:"env,omitempty"`
	// AllowPrivate permits private and loopback addresses.
	AllowPrivate bool `yaml:"allow_private,omitempty"`
	// APIKey is sent in Authorization, after "Bearer ", or as it is in the header KeyHeader.
	APIKey    llm.Secret `yaml:"api_key,omitempty"`
	KeyHeader string     `yaml:"key_header,omitempty"`
	// TokenURL is the address of an OAuth server that gives the installation access tokens for this server, by
	// ClientID and ClientSecret (RFC 6749, section 4.4), with Scopes.
	TokenURL     string     `yaml:"token_url,omitempty"`
	ClientID     string     `yaml:"client_id,omitempty"`
	ClientSecret llm.Secret `yaml:"client_secret,omitempty"`
	Scopes       []string   `yaml:"scopes,omitempty"`
	// OAuth is "installation" or "person" for a server to which an operator, or each person, connects by OAuth with
	// Scopes; empty for others. ClientID and ClientSecret are of a registration at Issuer, if there is one.
	OAuth  string `yaml:"oauth,omitempty"`
	Issuer string `yaml:"issuer,omitempty"`
	// Tools are patterns of the names of tools that may be called, with "*"; empty for none.
	Tools []string `yaml:"tools,omitempty"`
	// Prompts are patterns of the names of prompts that may be used, and Resources of the URIs that may be read.
	Prompts   []string `yaml:"prompts,omitempty"`
	Resources []string `yaml:"resources,omitempty"`
	// Accounts are the names of accounts that may call them; empty for all.
	Accounts []string `yaml:"accounts,omitempty"`
	// Timeout bounds a call, up to an hour; 0 for one minute.
	Timeout time.Duration `yaml:"timeout,omitempty"`
	// MaxResult bounds the result of a call, 1 KiB to 64 MiB; 0 for 4 MiB.
	MaxResult Bytes `yaml:"max_result,omitempty"`
	// CostMember is the member of a result's _meta with the cost of the call in US dollars; empty for none. CostAtMost
	// is the most that a call can cost then, which budgets reserve.
	CostMember string `yaml:"cost_member,omitempty"`
	CostAtMost string `yaml:"cost_at_most,omitempty"`
	// Approve says which definitions an operator has to approve: "changed" or empty for those that have changed, "new"
	// for all.
	Approve string `yaml:"approve,omitempty"`
	// TraceContext sends the server the trace context of calls.
	TraceContext bool `yaml:"trace_context,omitempty"`
}

// MCPBundle is a selection of tools at an address of its own, /mcp/NAME.
type MCPBundle struct {
	// Tools are patterns of <server>/<tool>, with "*"; Prompts and Resources of <server>/<prompt> and <server>/<URI>.
	Tools     []string `yaml:"tools,omitempty"`
	Prompts   []string `yaml:"prompts,omitempty"`
	Resources []string `yaml:"resources,omitempty"`
	// Accounts are the names of accounts that may use it; empty for all.
	Accounts []string `yaml:"accounts,omitempty"`
	// Names is "plain" for the servers' own names of tools, or "prefixed" or empty for names such as
	// github__create_issue.
	Names string `yaml:"names,omitempty"`
}

// isOfFile reports whether only the file may set a key of an object: it makes the gateway run a program.
func isOfFile(of reflect.Type, key string) bool {
	return of == reflect.TypeFor[MCPServer]() && (key == "command" || key == "env")
}

const (
	maxMCPName    = 32
	maxMCPTimeout = time.Hour
	minMCPResult  = 1 << 10
	maxMCPResult  = 64 << 20
)

// isMCPName reports whether a name is of lower-case letters, digits and single dashes, so that <name>__<tool> has one
// meaning.
func isMCPName(name string) bool {
	return name != "" && len(name) <= maxMCPName && name[0] != '-' && !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-'
	})
}

// checkMCP checks the MCP servers and bundles.
func checkMCP(ch *checker, c *Config) {
	for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
		s := c.MCPServers[name]
		checkMCPServer(ch, name, &s)
		c.MCPServers[name] = s
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCPBundles)) {
		path, b := join("mcp_bundles", name), c.MCPBundles[name]
		checkMCPName(ch, path, name)
		if len(b.Tools)+len(b.Prompts)+len(b.Resources) == 0 {
			ch.report(path, "the bundle %s needs `tools`, such as [github/*]", ticks(name))
		}
		checkMCPPatterns(ch, join(path, "tools"), b.Tools)
		checkMCPPatterns(ch, join(path, "prompts"), b.Prompts)
		checkMCPPatterns(ch, join(path, "resources"), b.Resources)
		if b.Names != "" {
			ch.checkWord(join(path, "names"), b.Names, []string{"prefixed", "plain"})
		}
	}
}

// checkMCPPatterns checks the patterns of a bundle.
func checkMCPPatterns(ch *checker, path string, patterns []string) {
	for i, pattern := range patterns {
		server, name, ok := strings.Cut(pattern, "/")
		if p := index(path, i); !ok || server == "" || name == "" {
			ch.report(p, "a pattern must be <server>/<name>, such as github/*, not %s", ch.quote(p, pattern))
		}
	}
}

func checkMCPName(ch *checker, path, name string) {
	if !isMCPName(name) {
		ch.report(path, "the name must be at most %d lower-case letters, digits and dashes, not %s", maxMCPName,
			ticks(clip(name, maxQuote)))
	}
}

func checkMCPServer(ch *checker, name string, s *MCPServer) {
	path := join("mcp_servers", name)
	checkMCPName(ch, path, name)
	switch {
	case len(s.Command) > 0 || len(s.Env) > 0:
		checkMCPCommand(ch, path, s)
	case s.URL == "":
		ch.report(path, "the MCP server %s needs a `url`, or in the configuration file a `command`", ticks(name))
	default:
		ch.checkHTTP(join(path, "url"), s.URL, "set `api_key` instead")
	}
	if !s.APIKey.IsZero() {
		ch.checkKeys(join(path, "api_key"), []llm.Secret{s.APIKey})
	}
	checkMCPOAuth(ch, path, s)
	if !isHeaderName(s.KeyHeader) {
		ch.report(join(path, "key_header"), "`key_header` must be the name of a header, such as X-Api-Key")
	}
	if s.Timeout < 0 || s.Timeout > maxMCPTimeout {
		ch.report(join(path, "timeout"), "`timeout` must be at most 1h")
	}
	if n := s.MaxResult; n != 0 && (n < minMCPResult || n > maxMCPResult) {
		ch.report(join(path, "max_result"), "`max_result` must be 1KiB to 64MiB")
	}
	if s.Approve != "" {
		ch.checkWord(join(path, "approve"), s.Approve, []string{"changed", "new"})
	}
	if (s.CostMember == "") != (s.CostAtMost == "") {
		ch.report(path, "set both `cost_member` and `cost_at_most`, or neither")
	}
	if s.CostAtMost != "" {
		if _, err := llm.ParseMoney(s.CostAtMost); err != nil {
			ch.report(join(path, "cost_at_most"), "`cost_at_most` must be an amount of US dollars, such as 0.50")
		}
	}
}

// checkMCPCommand checks a server that is a process.
func checkMCPCommand(ch *checker, path string, s *MCPServer) {
	if len(s.Command) == 0 {
		ch.report(join(path, "env"), "`env` needs `command`")
		return
	}
	if p := join(path, "command"); !filepath.IsAbs(s.Command[0]) {
		ch.report(p, "`command` must begin with the absolute path of a program, such as /usr/local/bin/server, not %s",
			ch.quote(p, s.Command[0]))
	}
	if slices.ContainsFunc(s.Command, hasZero) {
		ch.report(join(path, "command"), "`command` must have no zero bytes: no program can receive them")
	}
	for i, e := range s.Env {
		if name, _, ok := strings.Cut(e.Reveal(), "="); !ok || name == "" || hasZero(e.Reveal()) {
			ch.report(index(join(path, "env"), i), "`env` must have texts such as NAME=value, without zero bytes")
		}
	}
	if s.URL != "" || s.AllowPrivate || !s.APIKey.IsZero() || s.KeyHeader != "" || s.TokenURL != "" || s.OAuth != "" {
		ch.report(path, "a server with `command` has no `url`, `allow_private`, `api_key`, `key_header`, `token_url` "+
			"or `oauth`: give it credentials by `env`")
	}
}

func hasZero(text string) bool { return strings.Contains(text, "\x00") }

// checkMCPOAuth checks how a server gives access tokens.
func checkMCPOAuth(ch *checker, path string, s *MCPServer) {
	if s.OAuth != "" {
		checkMCPConnection(ch, path, s)
		return
	}
	if s.Issuer != "" {
		ch.report(join(path, "issuer"), "`issuer` needs `oauth`")
	}
	given, all := s.TokenURL != "", s.TokenURL != "" && s.ClientID != "" && !s.ClientSecret.IsZero()
	switch {
	case !given && s.ClientID == "" && s.ClientSecret.IsZero() && len(s.Scopes) == 0:
		return
	case !all:
		ch.report(path, "set `token_url`, `client_id` and `client_secret` together")
	case !s.APIKey.IsZero():
		ch.report(join(path, "api_key"), "a server has `api_key` or `token_url`, not both")
	}
	if given {
		ch.checkHTTP(join(path, "token_url"), s.TokenURL, "set `client_secret` instead")
	}
}

// checkMCPConnection checks a server to which people connect.
func checkMCPConnection(ch *checker, path string, s *MCPServer) {
	ch.checkWord(join(path, "oauth"), s.OAuth, []string{"installation", "person"})
	if !s.APIKey.IsZero() || s.TokenURL != "" {
		ch.report(join(path, "oauth"), "a server has `oauth`, `api_key` or `token_url`, not several of them")
	}
	if s.ClientID != "" && s.Issuer == "" || s.ClientID == "" && !s.ClientSecret.IsZero() {
		ch.report(path, "set `issuer` with `client_id`, and `client_id` with `client_secret`: a secret is for "+
			"one issuer")
	}
	if s.Issuer != "" {
		ch.checkHTTP(join(path, "issuer"), s.Issuer, "set `client_secret` instead")
	}
}

// isHeaderName reports whether a text is the name of a header, or empty.
func isHeaderName(name string) bool {
	return !strings.ContainsFunc(name, func(c rune) bool {
		return c >= 0x80 || !isWordByte(byte(c)) && c != '-'
	})
}
