package tool

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/account"
	"weir/internal/connection"
	"weir/internal/contentlog"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/mcp"
	"weir/internal/ratelimit"
	"weir/internal/telemetry"
)

// Options configures a Service. Content, Metrics and Refused may be nil.
type Options struct {
	Ledger      *ledger.Ledger
	Limits      *ratelimit.Limiter
	Definitions Definitions
	// Price returns the price of a tool, by the names that the ledger has.
	Price   func(provider, model string, at time.Time) llm.Price
	Refused func(*account.Principal, *llm.Error)
	// Connections gives access to servers to which people connect; nil for none.
	Connections *connection.Service
	Content     *contentlog.Recorder
	Metrics     *telemetry.Metrics
	Now         func() time.Time // of this machine
	Log         *slog.Logger
}

// Service lists and calls tools. Its methods may be called concurrently.
type Service struct {
	o       Options
	using   sync.Mutex
	current atomic.Pointer[table]

	watchers watchers
}

// table is a configuration in force.
type table struct {
	sources []*source
	bundles map[string]Bundle
}

// New returns a service without servers.
func New(o Options) *Service {
	s := &Service{o: o}
	if s.o.Refused == nil {
		s.o.Refused = func(*account.Principal, *llm.Error) {}
	}
	s.current.Store(&table{})
	s.watchers.all, s.watchers.running = map[*Subscription]struct{}{}, map[*source]*watcher{}
	return s
}

// Use puts a configuration in force. Servers that stay as they are keep their connections and lists.
func (s *Service) Use(c *Configuration) error {
	s.using.Lock()
	defer s.using.Unlock()
	old := s.current.Load()
	next := &table{bundles: c.Bundles}
	kept := map[*source]bool{}
	for i := range c.Servers {
		of := old.source(c.Servers[i].Name)
		if of != nil && of.Fingerprint == c.Servers[i].Fingerprint {
			kept[of] = true
			next.sources = append(next.sources, of)
			continue
		}
		made, err := s.open(&c.Servers[i])
		if err != nil {
			return err
		}
		next.sources = append(next.sources, made)
	}
	s.current.Store(next)
	for _, of := range old.sources {
		if !kept[of] {
			close(of.gone)
			of.client.Close()
		}
	}
	s.watch()
	s.tell(nil, mcp.NoteTools, mcp.NotePrompts, mcp.NoteResources)
	return nil
}

// Close closes the connections.
func (s *Service) Close() {
	s.watchers.mu.Lock()
	s.watchers.closed = true
	s.watchers.mu.Unlock()
	s.watch()
	s.watchers.ended.Wait()
	for _, of := range s.current.Load().sources {
		of.client.Close()
	}
}

func (t *table) source(name string) *source {
	for _, s := range t.sources {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// HasServer reports whether a server is configured.
func (s *Service) HasServer(name string) bool { return s.current.Load().source(name) != nil }

// List returns the tools that the caller may call, by server and then in the server's order. Servers that cannot be
// reached are left out.
func (s *Service) List(ctx context.Context, c Caller) ([]Tool, error) {
	t := s.current.Load()
	bundle, err := t.bundle(&c)
	if err != nil {
		return nil, err
	}
	var all []Tool
	lists := s.lists(ctx, t, &c, bundle)
	named := map[string]bool{} // plain names may be equal: Find returns the first
	for i, of := range t.sources {
		for j := range lists[i] {
			e := &lists[i][j]
			shown := e.shown(bundle)
			if named[shown.Name] || !of.mayCall(&c, bundle, e.tool.Name) {
				continue
			}
			if named[shown.Name] = true; !e.held {
				all = append(all, *shown)
			}
		}
	}
	return all, nil
}

// lists returns the entries of all sources. Those without a list are read at the same time.
func (s *Service) lists(ctx context.Context, t *table, c *Caller, b *Bundle) [][]entry {
	lists := make([][]entry, len(t.sources))
	var waiting sync.WaitGroup
	for i, of := range t.sources {
		if !admits(of.Accounts, c.Principal) || b != nil && !concerns(b.Tools, of.Name) {
			continue
		}
		waiting.Go(func() { lists[i] = of.list(ctx, &s.o) })
	}
	waiting.Wait()
	return lists
}

// concerns reports whether patterns of a bundle may name something of a server.
func concerns(patterns []string, server string) bool {
	for _, pattern := range patterns {
		of, _, _ := strings.Cut(pattern, "/")
		if llm.Matches(of, server) {
			return true
		}
	}
	return false
}

// bundle returns the caller's bundle; nil for all tools.
func (t *table) bundle(c *Caller) (*Bundle, error) {
	if err := c.Principal.May(account.Tools); err != nil {
		return nil, err
	}
	if c.Bundle == "" {
		return nil, nil //nolint:nilnil // all tools
	}
	b, ok := t.bundles[c.Bundle]
	if !ok || !admits(b.Accounts, c.Principal) {
		return nil, llm.Errorf(llm.CodeNotFound, "There is no MCP bundle %q for this account. /mcp has all its "+
			"tools; the operator names bundles under mcp_bundles.", c.Bundle)
	}
	return &b, nil
}

// mayCall reports whether the caller may call a tool of that name: by the server, the account, the bundle and the key.
func (s *source) mayCall(c *Caller, b *Bundle, name string) bool {
	return matches(s.Tools, name) && admits(s.Accounts, c.Principal) &&
		(b == nil || matches(b.Tools, s.Name+"/"+name)) && c.Principal.Uses(Prefix+s.Name+"/"+name)
}

func (e *entry) shown(b *Bundle) *Tool {
	if b != nil && b.Plain {
		return &e.plain
	}
	return &e.prefixed
}

// Find returns a tool by the name that the caller knows. The error says why there is none: it is unknown, its server
// has not answered yet, or its definition has changed and waits for approval.
func (s *Service) Find(ctx context.Context, c Caller, name string) (*Tool, error) {
	t := s.current.Load()
	bundle, err := t.bundle(&c)
	if err != nil {
		return nil, err
	}
	if bundle != nil && bundle.Plain {
		s.lists(ctx, t, &c, bundle) // of all servers at the same time
	}
	for _, of := range t.sources {
		own := name
		if bundle == nil || !bundle.Plain {
			server, rest, _ := strings.Cut(name, separator)
			if server != of.Name {
				continue
			}
			own = rest
		}
		if !admits(of.Accounts, c.Principal) || bundle != nil && !matches(bundle.Tools, of.Name+"/"+own) {
			continue
		}
		e := of.find(ctx, &s.o, own)
		switch {
		case e == nil:
			continue
		case !of.mayCall(&c, bundle, e.tool.Name):
			continue
		case e.held:
			return nil, llm.Errorf(llm.CodeForbidden, "The definition of the tool %q is new or has changed. An "+
				"operator has to approve it: weir mcp approve %s %s.", name, of.Name, own)
		}
		return e.shown(bundle), nil
	}
	return nil, t.unlisted(&c, llm.Errorf(llm.CodeNotFound, "There is no tool %.200q for this API key. List the "+
		"tools to see all.", name), func(of *source) bool {
		own, is := of.ownName(name, bundle)
		return is && of.mayCall(&c, bundle, own)
	}, s.o.Now())
}
