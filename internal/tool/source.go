package tool

import (
	"context"
	"fmt"
	"sync"
	"time"

	"weir/internal/llm"
	"weir/internal/mcp"
	"weir/internal/mcp/stdio"
	"weir/internal/rawjson"
)

const (
	// listFor bounds the first list of a server, for which callers wait. Later lists are read while the last one is
	// used.
	listFor = 5 * time.Second
	// usualTTL is how long a list is used if its server does not say, and leastTTL and mostTTL bound what it says.
	usualTTL = time.Minute
	leastTTL = 2 * time.Second
	mostTTL  = time.Hour
	// restFor is how long a server is not asked again after a failure, and lookEvery how often the version of the
	// stored definitions is read, which other nodes and approvals change.
	restFor   = 15 * time.Second
	lookEvery = time.Second
)

// State says whether a tool's definition is the approved one.
type State struct {
	Held bool // its definition has changed, and nobody has approved it
}

// Definitions stores the definitions of tools that people have approved.
type Definitions interface {
	// Seen records the definitions of a server's tools. A changed one is held.
	Seen(ctx context.Context, seen *Seen) (Shelf, error)
	// Version returns the version of the stored definitions of a server.
	Version(ctx context.Context, server string) (int64, error)
}

// Seen holds the definitions of a server's tools.
type Seen struct {
	Server  string
	Tools   []mcp.Tool
	HoldNew bool // a new tool is held; otherwise it is approved
	At      time.Time
}

// Shelf describes the stored definitions of a server.
type Shelf struct {
	States  map[string]State // of the tools that were seen, by name
	Version int64            // grows with every change
}

// Definition is the stored definition of a tool.
type Definition struct {
	Server, Tool string
	Digest, Text string // of the approved definition, which is JSON; empty for none
	// HeldDigest and Held are those of a definition that has changed and is held; empty for none.
	HeldDigest, Held string
	Approved         *time.Time // nil if it was never approved
	Changed          *time.Time // when the held one was first seen; nil for none
}

// entry is a tool of a server.
type entry struct {
	tool            mcp.Tool
	held            bool
	prefixed, plain Tool
}

// source is a server with the list of its tools.
type source struct {
	Server
	client *mcp.Client
	log    func(msg string, err error)
	gone   chan struct{}           // closed when the configuration has another server in its place
	tell   func(methods ...string) // tells listeners of changed lists

	mu        sync.Mutex
	entries   []entry // as the server lists them; never changed in place
	index     map[string]int
	omitted   map[string]string
	offers    offers
	version   int64 // of the stored definitions, as of the list
	read      bool  // the list was read once
	until     time.Time
	looked    time.Time
	refreshes chan struct{} // closed when the running refresh has ended; nil for none
	problem   string        // of the last refresh; empty if it succeeded
}

// list returns the tools, which it reads if there is no list yet. A list that is too old is used once more, while it
// is read again. Nobody waits for a server that did not answer the last time.
func (s *source) list(ctx context.Context, o *Options) []entry {
	s.mu.Lock()
	now := o.Now()
	old := !now.Before(s.until)
	if (old || now.Sub(s.looked) >= lookEvery) && s.refreshes == nil {
		done := make(chan struct{})
		s.refreshes = done
		go s.refresh(context.WithoutCancel(ctx), o, done, old)
	}
	if s.read || s.problem != "" || s.refreshes == nil {
		defer s.mu.Unlock()
		return s.entries
	}
	running := s.refreshes
	s.mu.Unlock()
	select {
	case <-running:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entries
}

// refresh reads the list of tools from the server, and the approvals: if the list is old, or the stored definitions
// have changed.
func (s *source) refresh(ctx context.Context, o *Options, done chan struct{}, old bool) {
	defer close(done)
	ctx, cancel := context.WithTimeout(ctx, listFor)
	defer cancel()
	if !old && s.isCurrent(ctx, o) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.refreshes, s.looked = nil, o.Now()
		return
	}
	listing, err := s.client.ListTools(ctx, "")
	var shelf Shelf
	var offered offers
	if err == nil {
		offered, err = s.readOffers(ctx, listing)
	}
	if err == nil {
		shelf, err = o.Definitions.Seen(ctx, &Seen{s.Name, listing.Tools, s.ApproveNew, o.Now().UTC()})
	}
	s.tell(s.settle(o, listing, offered, shelf, err)...)
}

// settle puts the lists in force, or records why they could not be read. It returns the methods of the notifications
// about those that have changed.
func (s *source) settle(o *Options, listing *mcp.Listing, offered offers, shelf Shelf, err error) (changed []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refreshes, s.looked = nil, o.Now()
	if err != nil {
		if s.problem == "" {
			s.log("the tools of an MCP server cannot be listed", err)
		}
		s.problem, s.until = llm.AsError(err).Message, o.Now().Add(restFor)
		return nil
	}
	ttl := usualTTL
	if listing.TTL > 0 {
		ttl = min(max(listing.TTL, leastTTL), mostTTL)
	}
	s.problem, s.read, s.until, s.version = "", true, o.Now().Add(ttl), shelf.Version
	entries, index := s.entriesOf(listing, shelf.States)
	changed = s.differences(entries, offered)
	s.entries, s.index, s.omitted, s.offers = entries, index, listing.Omitted, offered
	return changed
}

// isCurrent reports whether the stored definitions are those of the list. They are while they cannot be read.
func (s *source) isCurrent(ctx context.Context, o *Options) bool {
	version, err := o.Definitions.Version(ctx, s.Name)
	s.mu.Lock()
	defer s.mu.Unlock()
	return err != nil || version == s.version || !s.read
}

// entriesOf returns the tools of a list, and their places by name.
func (s *source) entriesOf(l *mcp.Listing, states map[string]State) (entries []entry, index map[string]int) {
	entries, index = make([]entry, len(l.Tools)), make(map[string]int, len(l.Tools))
	for i := range l.Tools {
		e := &entries[i]
		e.tool, e.held = l.Tools[i], states[l.Tools[i].Name].Held
		e.plain = s.shown(e, e.tool.Name)
		e.prefixed = s.shown(e, s.Name+separator+e.tool.Name)
		index[e.tool.Name] = i
	}
	return entries, index
}

// shown returns the tool under a name.
func (s *source) shown(e *entry, name string) Tool {
	definition := e.tool.Definition
	quoted := rawjson.AppendString(nil, name)
	return Tool{
		Name: name, Server: s.Name, entry: e, source: s,
		Definition: rawjson.Splice(nil, definition, rawjson.Set(definition, "name", quoted)),
	}
}

// find returns a tool by the server's name of it; nil if there is none.
func (s *source) find(ctx context.Context, o *Options, name string) *entry {
	s.list(ctx, o)
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.index[name]
	if !ok {
		return nil
	}
	return &s.entries[i]
}

// Condition describes a server for people.
type Condition struct {
	Name, URL string
	Revision  string // of the protocol; empty if it is not known
	Tools     int    // listed
	Allowed   int    // that may be called
	Held      int    // changed and not approved
	Problem   string // of the last list; empty if it succeeded
	Omitted   map[string]string
	Read      bool // the lists were read at least once
	// Prompts and Resources are listed; templates of URIs count as resources.
	Prompts, Resources int
}

func (s *source) condition() Condition {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := Condition{
		Name: s.Name, URL: s.Client.URL, Revision: s.client.Revision(), Tools: len(s.entries), Problem: s.problem,
		Omitted: s.omitted, Read: s.read, Prompts: len(s.offers[mcp.Prompts]),
		Resources: len(s.offers[mcp.Resources]) + len(s.offers[mcp.Templates]),
	}
	for i := range s.entries {
		e := &s.entries[i]
		switch s.known(e).Status {
		case Allowed:
			c.Allowed++
		case Held:
			c.Held++
		case Hidden:
		}
	}
	return c
}

// open connects to a server at its first use.
func (s *Service) open(o *Server) (*source, error) {
	if o.Connection != nil && s.o.Connections != nil {
		o.Client.Tokens = s.o.Connections.Tokens(o.Connection)
	}
	name, options := o.Name, o.Client
	options.Now = s.o.Now
	if o.Command != nil {
		command := *o.Command
		command.Log, command.Now = s.o.Log.With("server", name), s.o.Now
		options.Through = stdio.New(command)
	}
	client, err := mcp.New(options)
	if err != nil {
		return nil, fmt.Errorf("MCP server %s: %w", name, err)
	}
	log := func(msg string, err error) {
		s.o.Log.Warn(msg, "server", name, "err", err) //nolint:sloglint // the callers pass constants
	}
	of := &source{Server: *o, client: client, log: log, gone: make(chan struct{})}
	of.tell = func(methods ...string) { s.tell(of, methods...) }
	return of, nil
}
