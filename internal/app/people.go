package app

import (
	"context"
	"fmt"
	"log/slog"

	"weir/internal/config"
	"weir/internal/people"
	"weir/internal/store"
)

// newPeople creates the sign-in service of the configuration. Base returns the address for links if public_url is
// empty. Demoted is people.Options.Demoted. Change is for tests. Closer releases the service's resources.
func newPeople(cfg *config.Config, db *store.DB, log *slog.Logger, base func() string, demoted func(),
	change func(*people.Options),
) (s *people.Service, closer func(), err error) {
	r, err := newRing(cfg)
	if err != nil {
		return nil, nil, err
	}
	o := people.Options{
		Stores: db.People.Stores(), Now: db.Now, Log: log, PublicURL: base,
		Idle: cfg.Sessions.Idle, Absolute: cfg.Sessions.Absolute, PasswordsOff: cfg.Sessions.Passwords == "off",
		Demoted: demoted, Open: r.Open,
		Seal: func(ctx context.Context, text []byte, about string) (string, error) {
			return r.sealed(ctx, db.Webhooks.MasterKey, text, about)
		},
	}
	if cfg.PublicURL != "" {
		o.PublicURL = func() string { return cfg.PublicURL }
	}
	if change != nil {
		change(&o)
	}
	if m := cfg.SMTP; m.Addr != "" {
		o.Mail, err = people.NewMail(people.MailOptions{
			Addr: m.Addr, Username: m.Username, Password: m.Password,
			From: m.From, TLS: m.TLS, CAFile: cfg.Outbound.CAFile,
		})
		if err != nil {
			return nil, nil, err
		}
	}
	if cfg.OIDC.Issuer == "" {
		return people.New(o), func() {}, nil
	}
	if o.OIDC, err = people.NewOIDC(oidcOptions(cfg)); err != nil {
		return nil, nil, fmt.Errorf("oidc: %w", err)
	}
	return people.New(o), o.OIDC.Close, nil
}

func oidcOptions(cfg *config.Config) people.OIDCOptions {
	c := &cfg.OIDC
	o := people.OIDCOptions{
		Issuer: c.Issuer, ClientID: c.ClientID, ClientSecret: c.ClientSecret, Name: c.Name, Scopes: c.Scopes,
		GroupsClaim: c.GroupsClaim, Operators: c.Operators, Accounts: map[string]map[people.Role][]string{},
		SignUp: c.SignUp, Proxy: cfg.Outbound.Proxy.Reveal(), CAFile: cfg.Outbound.CAFile,
	}
	for name, g := range c.Accounts {
		o.Accounts[name] = map[people.Role][]string{
			people.Owner: g.Owner, people.Member: g.Member, people.Viewer: g.Viewer,
		}
	}
	return o
}

// listened is the address of cfg.Listen, for commands without a listener.
type listened string

// Network returns "tcp".
func (listened) Network() string { return "tcp" }

// String returns host:port.
func (l listened) String() string { return string(l) }

// BaseURL returns the address for links: public_url, or else the listening address as this machine reaches it.
func (d *Data) BaseURL() string {
	if d.cfg.PublicURL != "" {
		return d.cfg.PublicURL
	}
	return baseURL(&d.cfg, listened(d.cfg.Listen))
}
