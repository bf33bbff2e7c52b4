package admin

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/connection"
	"weir/internal/llm"
	"weir/internal/managed"
	"weir/internal/rawjson"
	"weir/internal/route"
	"weir/internal/store"
	"weir/internal/tool"
	"weir/internal/upstream"
)

// MCP lists the servers of tools, and approves changed tools.
type MCP struct {
	config *Configuration
	store  *store.MCPTools
	now    func() time.Time
	access *connection.Service
}

// MCPServerView is a configured server, as it answers now.
type MCPServerView struct {
	Name     string `json:"name"`
	URL      string `json:"url"`
	Revision string `json:"revision"` // of the protocol; empty if it does not answer
	Tools    int    `json:"tools"`    // listed
	Allowed  int    `json:"allowed"`  // of these, those that may be called
	Held     int    `json:"held"`     // of these, new or changed and not approved
	// Prompts and Resources are listed, if the configuration permits any. Templates of URIs count as resources.
	Prompts   int               `json:"prompts"`
	Resources int               `json:"resources"`
	Problem   string            `json:"problem"` // empty if it answers
	Omitted   map[string]string `json:"omitted"` // tools that are left out, with the reason
}

// MCPToolView is a tool of a server.
type MCPToolView struct {
	Name        string      `json:"name"` // as clients know it
	Server      string      `json:"server"`
	Tool        string      `json:"tool"` // as the server knows it
	Status      tool.Status `json:"status"`
	Description string      `json:"description"` // the first 1,000 bytes
}

// MCPDefinitionView is the definition of a tool, and the changed one that is held.
type MCPDefinitionView struct {
	Server     string          `json:"server"`
	Tool       string          `json:"tool"`
	Digest     string          `json:"digest"`      // empty if none is approved
	Definition json.RawMessage `json:"definition"`  // null if none is approved
	Approved   *time.Time      `json:"approved"`    // null if none is approved
	HeldDigest string          `json:"held_digest"` // empty for none
	Held       json.RawMessage `json:"held"`        // null for none
	Changed    *time.Time      `json:"changed"`     // null for none
}

// with opens the tools of the configuration in force, calls do with them, and closes them.
func (m *MCP) with(ctx context.Context, do func(*tool.Service)) error {
	saved, _, err := m.config.parsed(ctx, 0)
	if err != nil {
		return err
	}
	return m.config.try(ctx, saved, func(b *upstream.Builder, _ *route.Table) error {
		s := tool.New(tool.Options{
			Connections: m.access, Definitions: m.store, Now: m.now, Log: slog.New(slog.DiscardHandler),
		})
		defer s.Close()
		if err := s.Use(b.Tools(b.Config())); err != nil {
			return err
		}
		do(s)
		return nil
	})
}

// Servers asks all servers for their tools.
func (m *MCP) Servers(ctx context.Context) (all []MCPServerView, err error) {
	all = []MCPServerView{}
	err = m.with(ctx, func(s *tool.Service) {
		for _, c := range s.Conditions(ctx) {
			all = append(all, serverView(c))
		}
	})
	return all, err
}

// Tools returns the tools of a server, or of all if server is empty.
func (m *MCP) Tools(ctx context.Context, server string) (all []MCPToolView, err error) {
	const most = 1000
	all = []MCPToolView{}
	err = m.with(ctx, func(s *tool.Service) {
		if server != "" && !s.HasServer(server) {
			all = nil
			return
		}
		for _, k := range s.Known(ctx, server) {
			text := rawjson.Text(rawjson.Get(k.Definition, "description"))
			text = strings.ToValidUTF8(text[:min(len(text), most)], "")
			all = append(all, MCPToolView{k.Name, k.Server, k.Tool, k.Status, text})
		}
	})
	if err == nil && all == nil {
		err = llm.Errorf(llm.CodeNotFound, "There is no MCP server %.100q: weir mcp servers lists them.", server)
	}
	return all, err
}

// Definition returns the definition of a tool.
func (m *MCP) Definition(ctx context.Context, server, name string) (v MCPDefinitionView, err error) {
	all, err := m.store.List(ctx, server)
	if err != nil {
		return v, err
	}
	for i := range all {
		d := &all[i]
		if d.Tool != name {
			continue
		}
		v = MCPDefinitionView{
			Server: d.Server, Tool: d.Tool, Digest: d.Digest, Definition: jsonOf(d.Text),
			Approved: d.Approved, HeldDigest: d.HeldDigest, Held: jsonOf(d.Held), Changed: d.Changed,
		}
		return v, nil
	}
	return v, llm.Errorf(llm.CodeNotFound, "The MCP server %.100q has listed no tool %.100q yet: weir mcp tools "+
		"lists its tools.", server, name)
}

// jsonOf returns a JSON text; nil if it is empty.
func jsonOf(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

// MCPForgottenView says how many definitions were removed.
type MCPForgottenView struct {
	Server      string `json:"server"`
	Definitions int    `json:"definitions"`
}

// Forget removes the stored definitions of tools that a server no longer lists; of a server that is not configured any
// more, all of them. A server that does not answer keeps its definitions.
func (m *MCP) Forget(ctx context.Context, by audit.Actor, server string) (v MCPForgottenView, err error) {
	kept := map[string]bool{}
	var problem string
	err = m.with(ctx, func(s *tool.Service) {
		if !s.HasServer(server) {
			return
		}
		c := s.Condition(ctx, server)
		problem = c.Problem
		for name := range c.Omitted {
			kept[name] = true
		}
		for _, k := range s.Known(ctx, server) {
			kept[k.Tool] = true
		}
	})
	if err == nil && problem != "" {
		err = llm.Errorf(llm.CodeProviderUnavailable, "The definitions of a server that does not answer are kept, "+
			"because its tools are not known. Remove the server from the configuration, or try again later: %s",
			problem)
	}
	if err != nil {
		return v, err
	}
	n, err := m.store.Forget(ctx, by, server, kept)
	if err == nil && n == 0 && len(kept) == 0 {
		err = llm.Errorf(llm.CodeNotFound, "There is no MCP server %.100q: weir mcp servers lists them.", server)
	}
	return MCPForgottenView{server, n}, err
}

// Approve approves the held definition of a tool; digest is that of the definition that the caller has seen.
func (m *MCP) Approve(ctx context.Context, by audit.Actor, server, name, digest string) error {
	err := m.store.Approve(ctx, by, server, name, digest)
	switch {
	case errors.Is(err, managed.ErrUnknown):
		return llm.Errorf(llm.CodeNotFound, "The tool %.100q of the MCP server %.100q has no changed definition.", name,
			server)
	case errors.Is(err, managed.ErrChanged):
		return llm.Errorf(llm.CodeConflict, "The held definition is not the one with this digest. Read it again, "+
			"then approve it.")
	}
	return err
}

// Test asks one server for its tools. The error says why it does not answer.
func (m *MCP) Test(ctx context.Context, server string) (v MCPServerView, err error) {
	known := false
	err = m.with(ctx, func(s *tool.Service) {
		if known = s.HasServer(server); known {
			v = serverView(s.Condition(ctx, server))
		}
	})
	switch {
	case err != nil:
		return v, err
	case !known:
		return v, llm.Errorf(llm.CodeNotFound, "There is no MCP server %.100q: weir mcp servers lists them.", server)
	case v.Problem != "":
		return v, llm.Errorf(llm.CodeProviderUnavailable, "%s", v.Problem)
	}
	return v, nil
}

func serverView(c tool.Condition) MCPServerView {
	v := MCPServerView{
		Name: c.Name, URL: c.URL, Revision: c.Revision, Tools: c.Tools, Allowed: c.Allowed, Held: c.Held,
		Prompts: c.Prompts, Resources: c.Resources, Problem: c.Problem, Omitted: c.Omitted,
	}
	if v.Omitted == nil {
		v.Omitted = map[string]string{}
	}
	return v
}
