package tool

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"weir/internal/llm"
	"weir/internal/mcp"
	"weir/internal/rawjson"
)

// Offer is a prompt, a resource or a template of URIs that a caller may use.
type Offer struct {
	Name       string // as the caller knows it; a URI or a template is as its server wrote it
	Definition []byte // with Name, as JSON
}

// offers has what a server offers beside its tools. It never changes.
type offers map[mcp.Kind][]mcp.Offer

// readOffers reads the prompts and resources, if the configuration permits any. The time to live becomes the least.
func (s *source) readOffers(ctx context.Context, l *mcp.Listing) (offers, error) {
	all := offers{}
	for _, kind := range []mcp.Kind{mcp.Prompts, mcp.Resources, mcp.Templates} {
		if len(s.patterns(kind)) == 0 {
			continue
		}
		found, err := s.client.ListOffers(ctx, kind)
		if err != nil {
			return nil, err
		}
		all[kind] = found.List
		if found.TTL > 0 {
			l.TTL = min(l.TTL, found.TTL)
		}
	}
	return all, nil
}

// patterns returns the patterns of what may be used.
func (s *Server) patterns(kind mcp.Kind) []string {
	if kind == mcp.Prompts {
		return s.Prompts
	}
	return s.Resources
}

func (b *Bundle) patterns(kind mcp.Kind) []string {
	if kind == mcp.Prompts {
		return b.Prompts
	}
	return b.Resources
}

// mayUse reports whether the caller may use a prompt or a resource: by the server, the account, the bundle and the key.
func (s *source) mayUse(c *Caller, b *Bundle, kind mcp.Kind, name string) bool {
	return matches(s.patterns(kind), name) && admits(s.Accounts, c.Principal) &&
		(b == nil || matches(b.patterns(kind), s.Name+"/"+name)) && c.Principal.Uses(Prefix+s.Name+"/"+name)
}

// Offers returns the prompts, resources or templates that the caller may use, by server and then in the server's order.
// Of two equal names, the first server's counts.
func (s *Service) Offers(ctx context.Context, c Caller, kind mcp.Kind) ([]Offer, error) {
	t := s.current.Load()
	bundle, err := t.bundle(&c)
	if err != nil {
		return nil, err
	}
	var all []Offer
	lists, named := s.offers(ctx, t, &c, bundle, kind), map[string]bool{}
	for i, of := range t.sources {
		for j := range lists[i] {
			o := &lists[i][j]
			name := shownOffer(bundle, of, kind, o.Name)
			if named[name] || !of.mayUse(&c, bundle, kind, o.Name) {
				continue
			}
			named[name] = true
			definition := []byte(o.Definition)
			if name != o.Name {
				definition = withMember(definition, "name", rawjson.AppendString(nil, name))
			}
			all = append(all, Offer{name, definition})
		}
	}
	return all, nil
}

// shownOffer returns the name by which callers know a prompt. URIs are unique by themselves.
func shownOffer(b *Bundle, of *source, kind mcp.Kind, name string) string {
	if kind != mcp.Prompts || b != nil && b.Plain {
		return name
	}
	return of.Name + separator + name
}

// offers returns what each source offers. Those without a list are read at the same time.
func (s *Service) offers(ctx context.Context, t *table, c *Caller, b *Bundle, kind mcp.Kind) [][]mcp.Offer {
	lists := make([][]mcp.Offer, len(t.sources))
	var waiting sync.WaitGroup
	for i, of := range t.sources {
		if !admits(of.Accounts, c.Principal) || len(of.patterns(kind)) == 0 ||
			b != nil && !concerns(b.patterns(kind), of.Name) {
			continue
		}
		waiting.Go(func() {
			of.list(ctx, &s.o)
			of.mu.Lock()
			defer of.mu.Unlock()
			lists[i] = of.offers[kind]
		})
	}
	waiting.Wait()
	return lists
}

// FindPrompt returns the prompt of a name, as a tool whose calls get it.
func (s *Service) FindPrompt(ctx context.Context, c Caller, name string) (*Tool, error) {
	t := s.current.Load()
	bundle, err := t.bundle(&c)
	if err != nil {
		return nil, err
	}
	lists := s.offers(ctx, t, &c, bundle, mcp.Prompts)
	for i, of := range t.sources {
		for j := range lists[i] {
			own := lists[i][j].Name
			if shownOffer(bundle, of, mcp.Prompts, own) == name && of.mayUse(&c, bundle, mcp.Prompts, own) {
				return of.offered(name, own), nil
			}
		}
	}
	return nil, t.unlisted(&c, llm.Errorf(llm.CodeNotFound, "There is no prompt %.200q for this API key. List the "+
		"prompts to see all.", name), func(of *source) bool {
		own, is := of.ownName(name, bundle)
		return is && of.mayUse(&c, bundle, mcp.Prompts, own)
	}, s.o.Now())
}

// FindResource returns the resource of a URI, or of a template of URIs, as a tool whose calls read it. The first server
// that lists the URI has it, else the first one with a template that begins alike, else the only one that may have it:
// a server need not list each resource.
func (s *Service) FindResource(ctx context.Context, c Caller, uri string) (*Tool, error) {
	t := s.current.Load()
	bundle, err := t.bundle(&c)
	if err != nil {
		return nil, err
	}
	listed := s.offers(ctx, t, &c, bundle, mcp.Resources)
	templates := s.offers(ctx, t, &c, bundle, mcp.Templates)
	var like, only *source
	possible := 0
	for i, of := range t.sources {
		if !of.mayUse(&c, bundle, mcp.Resources, uri) {
			continue
		}
		if hasOffer(listed[i], uri) || hasOffer(templates[i], uri) {
			return of.offered(uri, uri), nil
		}
		if like == nil && hasTemplate(templates[i], uri) {
			like = of
		}
		only = of
		possible++
	}
	switch {
	case like != nil:
		return like.offered(uri, uri), nil
	case possible == 1:
		return only.offered(uri, uri), nil
	}
	return nil, t.unlisted(&c, llm.Errorf(llm.CodeNotFound, "There is no resource %.200q for this API key. List the "+
		"resources to see all.", uri), func(of *source) bool {
		return of.mayUse(&c, bundle, mcp.Resources, uri)
	}, s.o.Now())
}

func hasOffer(list []mcp.Offer, name string) bool {
	for i := range list {
		if list[i].Name == name {
			return true
		}
	}
	return false
}

// hasTemplate reports whether a URI begins as one of the templates does before its first variable.
func hasTemplate(list []mcp.Offer, uri string) bool {
	for i := range list {
		begin, _, _ := strings.Cut(list[i].Name, "{")
		if begin != "" && strings.HasPrefix(uri, begin) {
			return true
		}
	}
	return false
}

// offered returns a prompt or a resource as a tool.
func (s *source) offered(name, own string) *Tool {
	return &Tool{Name: name, Server: s.Name, entry: &entry{tool: mcp.Tool{Name: own}}, source: s}
}

// model returns the name of a call in the ledger: the tool, or the method where no tool is called, because URIs would
// be names without number.
func (c *Call) model() string {
	if c.isTool() {
		return c.Tool.Own()
	}
	return c.Method
}

// isTool reports whether a tool is called.
func (c *Call) isTool() bool { return c.Method == "" }

// request returns the request for another method than tools/call.
func (c *Call) request() *mcp.Request {
	r := &mcp.Request{
		Method: c.Method, Params: c.Params, Session: c.session(), Person: c.person(), Notify: c.Notify,
		Ask: c.Ask, Abilities: c.Abilities,
	}
	own := rawjson.AppendString(nil, c.Tool.Own())
	switch c.Method {
	case mcp.MethodPrompt:
		r.Name, r.Params = c.Tool.Own(), withMember(c.Params, "name", own)
	case mcp.MethodResource:
		r.Name = c.Tool.Own()
	case mcp.MethodComplete:
		ref := rawjson.Get(c.Params, "ref")
		if rawjson.Text(rawjson.Get(ref, "type")) == "ref/prompt" {
			r.Params = withMember(c.Params, "ref", withMember(ref, "name", own))
		}
	}
	return r
}

func withMember(object json.RawMessage, name string, value []byte) json.RawMessage {
	return rawjson.Splice(nil, object, rawjson.Set(object, name, value))
}
