package admin

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/connection"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/route"
	"weir/internal/store"
	"weir/internal/upstream"
)

// Connections connects this installation, and people, to MCP servers by OAuth.
type Connections struct {
	Service *connection.Service

	store     *store.Connections
	config    *Configuration
	inForce   func() (*config.Config, *route.Table) // nil in commands
	publicURL string
}

func newConnections(o *Options, c *Configuration, keys *KeyRing) *Connections {
	return &Connections{
		Service: connection.New(connection.Options{
			PublicURL: o.Config.PublicURL, Store: o.Store.Connections, Seal: keys.Sealed, Open: keys.Open,
			Proxy: o.Config.Outbound.Proxy.Reveal(), CAFile: o.Config.Outbound.CAFile, Now: o.Store.Now, Log: o.Log,
		}),
		store: o.Store.Connections, config: c, inForce: o.InForce, publicURL: o.Config.PublicURL,
	}
}

// ConnectionView is a server to which people connect.
type ConnectionView struct {
	Server    string     `json:"server"`
	URL       string     `json:"url"`
	PerPerson bool       `json:"per_person"` // each person connects; else an operator, for all
	Connected *time.Time `json:"connected"`  // null for not
	Issuer    string     `json:"issuer"`     // of the tokens; empty if not connected
}

// servers calls do with the servers of the configuration in force.
func (c *Connections) servers(ctx context.Context, do func(map[string]config.MCPServer)) error {
	if c.inForce != nil {
		cfg, _ := c.inForce()
		do(cfg.MCPServers)
		return nil
	}
	saved, _, err := c.config.parsed(ctx, 0)
	if err != nil {
		return err
	}
	return c.config.try(ctx, saved, func(b *upstream.Builder, _ *route.Table) error {
		do(b.Config().MCPServers)
		return nil
	})
}

// find returns a server to which people connect.
func (c *Connections) find(ctx context.Context, name string) (s config.MCPServer, err error) {
	err = c.servers(ctx, func(all map[string]config.MCPServer) { s = all[name] })
	if err == nil && s.OAuth == "" {
		err = llm.Errorf(llm.CodeNotFound, "There is no MCP server %.100q to which people connect: set oauth in its "+
			"entry of mcp_servers.", name)
	}
	return s, err
}

// admits reports whether a visitor may use a server.
func admits(v *people.Visitor, s *config.MCPServer) bool {
	return v.Operator() || slices.ContainsFunc(v.Memberships(), func(m people.Membership) bool {
		return v.May(people.Use, m.AccountID) == nil && (len(s.Accounts) == 0 ||
			slices.Contains(s.Accounts, m.AccountName))
	})
}

// List returns the servers to which the visitor connects, with the visitor's connections, or with those of the
// installation.
func (c *Connections) List(ctx context.Context, v *people.Visitor, installation bool) ([]ConnectionView, error) {
	who := v.User().ID
	if installation {
		who = ""
	}
	rows, err := c.store.List(ctx, who)
	if err != nil {
		return nil, err
	}
	views := []ConnectionView{}
	err = c.servers(ctx, func(all map[string]config.MCPServer) {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			s := all[name]
			if s.OAuth == "" || !admits(v, &s) || !installation && s.OAuth != "person" {
				continue
			}
			one := ConnectionView{Server: name, URL: s.URL, PerPerson: s.OAuth == "person"}
			for i := range rows {
				if rows[i].Server == name && rows[i].Resource == s.URL {
					one.Connected, one.Issuer = &rows[i].Created, rows[i].Issuer
				}
			}
			views = append(views, one)
		}
	})
	return views, err
}

// who returns the id of the user whose connection to a server the visitor may change: their own, or that of the
// installation, which is empty.
func (c *Connections) who(ctx context.Context, v *people.Visitor, name string, installation bool) (
	who string, s config.MCPServer, err error,
) {
	if s, err = c.find(ctx, name); err != nil {
		return "", s, err
	}
	switch {
	case v.User() == nil:
		err = llm.Errorf(llm.CodeForbidden, "Only people connect, on the page Connections.")
	case installation:
		return "", s, v.May(people.Operate, "")
	case s.OAuth != "person" || !admits(v, &s):
		err = llm.Errorf(llm.CodeForbidden, "You may not connect to the MCP server %q. Ask an operator.", name)
	default:
		who = v.User().ID
	}
	return who, s, err
}

// Begin returns the address at which the visitor consents, and a text for their browser to keep until Finish.
func (c *Connections) Begin(ctx context.Context, v *people.Visitor, name string, installation bool) (
	address string, keep llm.Secret, err error,
) {
	who, s, err := c.who(ctx, v, name, installation)
	if err != nil {
		return "", keep, err
	}
	last, err := c.last(ctx, name, who)
	if err != nil {
		return "", keep, err
	}
	return c.Service.Begin(ctx, upstream.Connection(name, &s), who, v.Session().ID, last)
}

// last returns the connection of a user, or of the installation, to a server; nil if there is none.
func (c *Connections) last(ctx context.Context, name, who string) (*connection.Row, error) {
	rows, err := c.store.List(ctx, who)
	if i := slices.IndexFunc(rows, func(r connection.Row) bool { return r.Server == name }); i >= 0 {
		return &rows[i], err
	}
	return nil, err
}

// Finish stores the connection to which an authorization server has led back, and returns the name of its server.
func (c *Connections) Finish(ctx context.Context, by audit.Actor, v *people.Visitor, answer *connection.Answer) (
	string, error,
) {
	answer.Session = v.Session().ID
	find := func(name string) (*connection.Server, error) {
		s, err := c.find(ctx, name)
		return upstream.Connection(name, &s), err
	}
	row, err := c.Service.Finish(ctx, find, answer)
	if err != nil {
		return "", err
	}
	who, _, err := c.who(ctx, v, row.Server, row.Who == "")
	if err != nil || who != row.Who {
		return "", errors.Join(err, llm.Errorf(llm.CodeForbidden, "You may not connect to this MCP server."))
	}
	if err := c.store.Connect(ctx, by, row); err != nil {
		return "", c.changed(err)
	}
	c.Service.Forget(row.Server, row.Who)
	return row.Server, nil
}

// Remove ends a connection of the visitor, or of the installation.
func (c *Connections) Remove(ctx context.Context, by audit.Actor, v *people.Visitor, name string, installation bool,
) error {
	who := ""
	if installation {
		if err := v.May(people.Operate, ""); err != nil {
			return err
		}
	} else if who = v.User().ID; who == "" {
		return llm.Errorf(llm.CodeForbidden, "Only people have connections.")
	}
	last, err := c.last(ctx, name, who)
	if err != nil {
		return err
	}
	there, err := c.store.Disconnect(ctx, by, name, who)
	c.Service.Forget(name, who)
	if s, unknown := c.find(ctx, name); err == nil && unknown == nil && last != nil {
		c.Service.Revoke(ctx, upstream.Connection(name, &s), last)
	}
	if err == nil && !there {
		err = llm.Errorf(llm.CodeNotFound, "There is no connection to the MCP server %.100q.", name)
	}
	return c.changed(err)
}

func (c *Connections) changed(err error) error {
	if errors.Is(err, audit.ErrNotAllowed) || errors.Is(err, people.ErrNotFound) {
		return llm.Errorf(llm.CodeForbidden, "You may not change this connection any more.")
	}
	return err
}

// Address returns the address at which a person connects to a server.
func (c *Connections) Address(ctx context.Context, name string) (string, error) {
	if _, err := c.find(ctx, name); err != nil {
		return "", err
	}
	if c.publicURL == "" {
		return "", llm.Errorf(llm.CodeInvalidRequest, "Set public_url: the authorization server has to lead back "+
			"to it.")
	}
	return c.publicURL + connection.Path + "#" + name, nil
}
