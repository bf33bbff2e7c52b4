package upstream

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	"weir/internal/config"
	"weir/internal/connection"
	"weir/internal/llm"
	"weir/internal/mcp"
	"weir/internal/mcp/stdio"
	"weir/internal/tool"
)

// Tools returns the MCP servers and bundles of a configuration.
func (b *Builder) Tools(cfg *config.Config) *tool.Configuration {
	c := &tool.Configuration{Bundles: map[string]tool.Bundle{}}
	for _, name := range slices.Sorted(maps.Keys(cfg.MCPServers)) {
		s := cfg.MCPServers[name]
		c.Servers = append(c.Servers, b.server(cfg, name, &s))
	}
	for name, bundle := range cfg.MCPBundles {
		c.Bundles[name] = tool.Bundle{
			Tools: bundle.Tools, Prompts: bundle.Prompts, Resources: bundle.Resources, Accounts: bundle.Accounts,
			Plain: bundle.Names == "plain",
		}
	}
	return c
}

func (b *Builder) server(cfg *config.Config, name string, s *config.MCPServer) tool.Server {
	most, _ := llm.ParseMoney(s.CostAtMost) // it was checked; empty is 0
	t := tool.Server{
		Name: name, Tools: s.Tools, Prompts: s.Prompts, Resources: s.Resources, Accounts: s.Accounts,
		CostMember: s.CostMember, CostAtMost: most,
		TraceContext: s.TraceContext, ApproveNew: s.Approve == "new", PerPerson: s.OAuth == "person",
		Client: mcp.Options{
			Name: name, URL: s.URL, AllowPrivate: s.AllowPrivate, Timeout: s.Timeout, MaxAnswer: int(s.MaxResult),
			Proxy: cfg.Outbound.Proxy.Reveal(), CAFile: cfg.Outbound.CAFile, Version: cmp.Or(b.options.Version, "dev"),
		},
	}
	if len(s.Command) > 0 {
		t.Client.URL = "stdio:" + s.Command[0] // for people; arguments may be secret
		t.Command = &stdio.Options{Command: s.Command, Env: s.Env, MaxLine: int(s.MaxResult)}
	}
	if !s.APIKey.IsZero() {
		header, value := s.KeyHeader, s.APIKey
		if header == "" {
			header, value = "Authorization", llm.NewSecret("Bearer "+value.Reveal())
		}
		t.Client.Headers = map[string]llm.Secret{header: value}
	}
	if s.OAuth != "" {
		t.Connection = Connection(name, s)
	}
	t.Client.OAuth = mcp.OAuth{
		TokenURL: s.TokenURL, ClientID: s.ClientID, Secret: s.ClientSecret, Scopes: s.Scopes,
	}
	secrets := []string{s.APIKey.Reveal(), s.ClientSecret.Reveal(), cfg.Outbound.Proxy.Reveal()}
	for _, e := range s.Env {
		secrets = append(secrets, e.Reveal())
	}
	text, _ := json.Marshal([]any{s, secrets, cfg.Outbound}) // of texts
	sum := sha256.Sum256(text)
	t.Fingerprint = hex.EncodeToString(sum[:])
	return t
}

// Connection describes how people connect to a server.
func Connection(name string, s *config.MCPServer) *connection.Server {
	return &connection.Server{
		Name: name, URL: s.URL, AllowPrivate: s.AllowPrivate, PerPerson: s.OAuth == "person", Issuer: s.Issuer,
		ClientID: s.ClientID, Secret: s.ClientSecret, Scopes: s.Scopes,
	}
}

// checkTools reports the MCP servers that cannot be opened.
func (b *Builder) checkTools(cfg *config.Config, found *config.Report) {
	for _, s := range b.Tools(cfg).Servers {
		if s.Command != nil {
			continue // it is started at the first request
		}
		client, err := mcp.New(s.Client)
		if err != nil {
			found.Wrong(config.Path("mcp_servers", s.Name), "the MCP server `%s`: %v", s.Name, err)
			continue
		}
		client.Close()
	}
}
